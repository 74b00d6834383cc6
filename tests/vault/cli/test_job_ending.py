import io

import pytest
import typer
from rich.console import Console

from vault.cli.job_ending import INCOMPLETE, STOPPED, end_with, in_one_line, say_tally
from vault.jobs.job_store import JobState
from vault.jobs.left_rows import LOCKED
from vault.jobs.tally import Tally

DONE = Tally("reencrypt", "visit", 4)
LEFT = Tally(
    "reencrypt",
    "visit",
    4,
    1,
    1,
    2,
    (("diagnosis", "under key 00c0ffee", 3),),
    JobState.INCOMPLETE,
    90.0,
    ((LOCKED, 2),),
)
ENDED_EARLY = Tally("reencrypt", "visit", 4, outcome=JobState.STOPPED, unsafe_seconds=90)


def said(tally: Tally) -> list[str]:
    out = io.StringIO()
    say_tally(Console(file=out, width=300), tally, "aabbccdd")
    return out.getvalue().splitlines()


def test_the_counts_stand_in_one_line() -> None:
    assert said(DONE) == [
        "visit: 4 rows rewritten, 0 changed or locked by others meanwhile, 0 unreadable; 0 rows not under key aabbccdd"
    ]
    assert in_one_line(ENDED_EARLY, "aabbccdd").endswith("stopped before the end")
    assert "4 rows would be rewritten" in in_one_line(DONE, "aabbccdd", dry_run=True)


def test_what_is_left_is_told_by_column_and_the_lease_with_what_to_do() -> None:
    line, why, remain, listed, lease = said(LEFT)
    assert "1 unreadable; 2 rows not under key aabbccdd" in line
    assert why == "  visit.diagnosis: 3 values under key 00c0ffee"
    assert remain == "  visit: of the rows that remain, 2 locked by somebody else; run it again"
    assert listed == "  visit: 1 left as they are, with the reason: noisevault jobs failed"
    assert "UTC a service may still seal by the older key" in lease
    assert "run it again then, or with --after-lease" in lease
    assert len(said(ENDED_EARLY)) == 1


@pytest.mark.parametrize(
    ("tallies", "stopped", "status"),
    [([DONE, LEFT], False, INCOMPLETE), ([LEFT, ENDED_EARLY], False, STOPPED), ([DONE], True, STOPPED)],
)
def test_the_exit_status_tells_how_it_ended(tallies: list[Tally], stopped: bool, status: int) -> None:
    with pytest.raises(typer.Exit) as ended:
        end_with(tallies, stopped=stopped)
    assert ended.value.exit_code == status


def test_when_all_is_done_nothing_is_raised() -> None:
    end_with([DONE, DONE], stopped=False)
