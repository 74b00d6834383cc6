"""Steps: which outcomes count as failures."""

import pytest

from vault.maintenance.step import Outcome


@pytest.mark.parametrize("outcome", list(Outcome))
def test_waiting_for_others_or_for_time_is_no_failure(outcome: Outcome) -> None:
    assert outcome.is_failure == (outcome in {Outcome.FAILED, Outcome.INCOMPLETE})
