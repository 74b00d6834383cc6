import os

import pytest

from dp.noise.random_source import OperatingSystemRandom
from dp.selftest.finding import Verdict
from dp.selftest.freshness import freshness
from tests.dp.seeded import SeededRandom


def test_forks_draw_noise_of_their_own() -> None:
    (found,) = freshness(OperatingSystemRandom())
    assert (found.statistic, found.verdict) == (0, Verdict.PASS)


def test_a_source_that_forks_repeat_is_seen() -> None:
    (found,) = freshness(SeededRandom(1))
    assert found.verdict is Verdict.FAIL
    assert found.statistic == 8 * 16  # each fork draws what this process draws next


def test_without_forks_there_is_nothing_to_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    (found,) = freshness(OperatingSystemRandom())
    assert found.verdict is Verdict.SKIPPED


def test_a_fork_that_tells_nothing_is_a_failure() -> None:
    class Failing(SeededRandom):
        process = os.getpid()

        def bytes(self, n: int) -> bytes:
            if os.getpid() != self.process:
                os._exit(1)
            return super().bytes(n)

    (found,) = freshness(Failing(1))
    assert found.verdict is Verdict.FAIL
