"""Job display: the events of jobs as a bar on a terminal, as lines in a file, or as JSON for a machine."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console

from vault.jobs.events import (
    Advanced,
    Began,
    Ended,
    Event,
    Held,
    Proved,
    RowFailed,
    RowLeft,
    RowWrong,
    Verified,
    Waiting,
    WorkerLost,
    as_json,
)

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Notify", "job_display"]

# Ours: lines of progress in a file are so many seconds apart, and so many rows that failed are named.
SECONDS_A_LINE: Final = 10.0
NAMED_ROWS: Final = 20
Notify = Callable[[Event], None]


@contextmanager
def job_display(console: Console, *, as_lines_of_json: bool = False) -> Iterator[Notify]:
    """Give a function that shows an event."""
    if as_lines_of_json:
        yield lambda event: typer.echo(json.dumps(as_json(event)))
        return
    if not console.is_terminal:
        yield _Display(console, None).show
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows, {task.fields[rate]:,.0f} a second,"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        yield _Display(console, bar).show


class _Display:
    def __init__(self, console: Console, bar: "Progress | None", clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._bar = bar
        self._clock = clock
        self._task: TaskID | None = None
        self._next_line = clock() + SECONDS_A_LINE
        self._failed: set[tuple[str, str, str]] = set()

    def show(self, event: Event) -> None:
        match event:
            case Began():
                self._began(event)
            case Advanced():
                self._advanced(event)
            case RowFailed():
                self._row_failed(event)
            case RowWrong():
                self._row_wrong(event)
            case RowLeft():
                self._say(f"  {event.table} {event.key}: {event.reason}; left for another run")
            case Waiting():
                self._say(f"{event.table}: {event.reason}; waiting, {event.seconds:.0f} s at most")
            case WorkerLost():
                self._say(f"{event.table}: a worker was lost; range {event.part} of {event.parts} goes on with another")
            case Held(paused=True):
                self._say(f"{event.table}: paused; go on by: noisevault jobs resume {event.table}")
            case Held():
                self._say(f"{event.table}: goes on")
            case Proved() | Ended() | Verified():
                pass  # told when all tables are done

    def _began(self, event: Began) -> None:
        self._failed.clear()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(f"{event.job} {event.table}", total=event.rows, rate=0.0)
        if event.resumed:
            self._say(f"{event.table}: goes on where it stopped, pass {event.number}, after {event.seen} rows")

    def _advanced(self, event: Advanced) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=event.seen, total=event.rows, rate=event.rate)
        if self._console.is_terminal or self._clock() < self._next_line:
            return
        self._next_line = self._clock() + SECONDS_A_LINE
        left = "" if event.seconds_left is None else f", {timedelta(seconds=round(event.seconds_left))} left"
        self._say(
            f"{event.table}: pass {event.number}, {event.seen:,} of {event.rows:,} rows, {event.rate:,.0f}/s{left}"
        )

    def _row_failed(self, event: RowFailed) -> None:
        place = (event.table, event.key, event.column)
        if place in self._failed or len(self._failed) > NAMED_ROWS:
            return
        self._failed.add(place)
        if len(self._failed) > NAMED_ROWS:
            self._say(f"  {event.table}: more rows are left as they are; all by: noisevault jobs failed")
            return
        self._say(f"  {event.table} {event.key} {event.column}: {event.reason}; left as it is")

    def _row_wrong(self, event: RowWrong) -> None:
        """Every one is named: nobody else may keep a list of them."""
        row = f" {event.key}" if event.key else ""
        self._say(f"  {event.table}{row} {event.column}: {event.kind}: {event.reason}")

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
