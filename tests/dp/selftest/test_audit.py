import subprocess
import sys

import pytest

from dp.errors import ParameterError
from dp.selftest.audit import audit, audit_with_random
from dp.selftest.finding import Verdict
from tests.dp.seeded import SeededRandom
from tests.sizes import sized


def test_this_installation_passes() -> None:
    assert [finding.check for finding in audit() if finding.verdict is not Verdict.PASS] == []


def test_a_seed_is_seen_by_the_forks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    if sized(1, 0):  # that the samplers pass with it is seen in test_sampling.py
        monkeypatch.setattr("dp.selftest.audit.sampling", lambda *_: iter(()))
    failed = [
        finding.check for finding in audit_with_random(20_000, SeededRandom(1)) if finding.verdict is Verdict.FAIL
    ]
    assert failed == ["8 forks and this process: numbers drawn twice"]


@pytest.mark.parametrize("draws", [0, 19_999, 10**9, 20_000.0, True])
def test_too_few_draws_are_refused_before_anything_is_drawn(draws: int) -> None:
    with pytest.raises(ParameterError, match="draws"):
        audit(draws)


def test_it_needs_no_library_that_only_the_tests_have() -> None:
    seen = (
        "import sys, dp.selftest.audit; print(sorted({'scipy', 'opendp', 'mpmath', 'hypothesis'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", seen], check=True, capture_output=True, text=True).stdout == "[]\n"
