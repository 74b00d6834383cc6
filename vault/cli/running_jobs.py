"""Running jobs: what every command that runs jobs puts around them: signals ask for the end, events are shown.

A command does nothing else meanwhile, so Python looks for cyclic garbage rarely (see vault/jobs/collector.py).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from vault.cli.interrupting import stops_on_signals
from vault.cli.job_display import Notify, job_display
from vault.jobs.collector import rare_collections

__all__ = ["Surroundings", "running_jobs"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """To be given to each Job. stop: set by the first signal. notify: shows an event."""

    stop: threading.Event
    notify: Notify


@contextmanager
def running_jobs(console: Console, *, as_lines_of_json: bool = False) -> Iterator[Surroundings]:
    """Jobs are run within, one after the other."""
    with (
        stops_on_signals() as stop,
        job_display(console, as_lines_of_json=as_lines_of_json) as notify,
        rare_collections(),
    ):
        yield Surroundings(stop, notify)
