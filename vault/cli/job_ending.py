"""Job ending: what is said when jobs have ended, and the exit status."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import typer
from rich.console import Console

from kms.utc_text import to_the_second
from vault.jobs.job_store import JobState
from vault.jobs.tally import Tally

__all__ = ["INCOMPLETE", "STOPPED", "end_with", "in_one_line", "in_others_hands", "say_tally", "why_left"]

# Exit statuses beside 0 (nothing is left), 1 (refused or failed) and 2 (the words are off).
INCOMPLETE: Final = 3
STOPPED: Final = 4


def say_tally(console: Console, tally: Tally, key_id: str, *, dry_run: bool = False) -> None:
    """One line of counts, and what an operator is to know or do."""
    for line in (in_one_line(tally, key_id, dry_run=dry_run), *_remarks(tally, datetime.now(UTC))):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def in_one_line(tally: Tally, key_id: str, *, dry_run: bool = False) -> str:
    """key_id: of the active key."""
    if dry_run:
        return (
            f"{tally.table}: {tally.rewritten} rows would be rewritten under key {key_id}, {tally.failed} unreadable;"
            " nothing was written"
        )
    counts = f"{tally.rewritten} rows rewritten, {in_others_hands(tally)}"
    if tally.outcome is JobState.STOPPED:
        return f"{tally.table}: {counts}; stopped before the end"
    return f"{tally.table}: {counts}, {tally.failed} unreadable; {tally.remaining} rows not under key {key_id}"


def in_others_hands(tally: Tally) -> str:
    """How often a row could not be had, and another pass came back to it."""
    return f"{tally.changed_meanwhile} changed or locked by others meanwhile"


def why_left(tally: Tally) -> list[str]:
    """A line for each reason that rows remain for which could be done; of those that cannot, where they are listed."""
    lines = [
        f"  {tally.table}: of the rows that remain, {number} {reason}; run it again" for reason, number in tally.left
    ]
    if tally.failed:
        lines.append(f"  {tally.table}: {tally.failed} left as they are, with the reason: noisevault jobs failed")
    return lines


def _remarks(tally: Tally, now: datetime) -> list[str]:
    lines = [f"  {tally.table}.{column}: {number} values {reason}" for column, reason, number in tally.why]
    lines += why_left(tally)
    if tally.outcome is not JobState.STOPPED and tally.unsafe_seconds > 0:
        until = to_the_second(now + timedelta(seconds=tally.unsafe_seconds + 1))
        lines.append(
            f"  {tally.table}: until {until} a service may still seal by the older key, which this run cannot have"
            " seen: run it again then, or with --after-lease"
        )
    return lines


def end_with(tallies: Sequence[Tally], *, stopped: bool) -> None:
    """Raises: typer.Exit unless all is done."""
    outcomes = {tally.outcome for tally in tallies}
    if stopped or JobState.STOPPED in outcomes:
        Console(stderr=True).print("stopped after the batch in hand; go on by the same command", soft_wrap=True)
        raise typer.Exit(STOPPED)
    if JobState.INCOMPLETE in outcomes:
        raise typer.Exit(INCOMPLETE)
