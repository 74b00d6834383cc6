"""Tallies: what is not done is told by an error that says what to do."""

from dataclasses import replace

import pytest

from vault.errors import JobIncompleteError
from vault.jobs.job_store import JobState
from vault.jobs.tally import Tally

DONE = Tally("reencrypt", "visit", rewritten=3)


def test_a_run_that_is_through_says_nothing() -> None:
    DONE.require_complete()


@pytest.mark.parametrize("outcome", [JobState.STOPPED, JobState.INCOMPLETE])
def test_a_run_that_is_not_through_says_how_many_rows_are_left(outcome: JobState) -> None:
    with pytest.raises(JobIncompleteError, match="2 rows"):
        replace(DONE, outcome=outcome, remaining=2).require_complete()
