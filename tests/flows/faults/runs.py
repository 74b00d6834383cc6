"""Runs: the engine of jobs re-encrypts in another process, and tells its events in a file; to be killed or stopped."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, RowMapping, event
from sqlalchemy.exc import SQLAlchemyError

from kms import KmsError
from tests.flows.faults.visits import PROCESSES, SEALING_LEASE, Place
from tests.sizes import sized
from vault.cli.interrupting import stops_on_signals
from vault.errors import VaultError
from vault.jobs.change import Change, Failed
from vault.jobs.engine import Job
from vault.jobs.events import Advanced, Event, as_json
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState
from vault.jobs.pace import PaceSettings
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.row_keyrings import row_keyrings

WITHIN_SECONDS = sized(120, 1800)
STATUS = {JobState.COMPLETE: 0, JobState.INCOMPLETE: 3, JobState.STOPPED: 4}
QUICK: dict[str, Any] = {"beat": 0.05, "silence": 1.0, "after_lease": True}


@dataclass(frozen=True)
class Freeze:
    """The run stops itself by SIGSTOP, the nth time that it comes to a place.

    at: RENEWING, when it has read a page; TOLD, when it has told how far it is; else how a statement of SQL begins,
    before it is executed, or after.
    """

    at: str
    nth: int = 1
    after: bool = True


RENEWING, TOLD = "renewing", "told"


@dataclass
class _Freezer:
    """Counts."""

    freeze: Freeze | None
    times: int = 0

    def at(self, place: str) -> None:
        if self.freeze is not None and place.startswith(self.freeze.at):
            self.times += 1
            if self.times == self.freeze.nth:
                os.kill(os.getpid(), signal.SIGSTOP)
                time.sleep(0.3)  # a thread may go on for a moment before the system stops it

    def watch(self, engine: Engine) -> None:
        def executed(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
            self.at(statement)

        after = self.freeze is None or self.freeze.after
        event.listen(engine, "after_cursor_execute" if after else "before_cursor_execute", executed)


@dataclass(frozen=True)
class Wanted:
    """rows: of a batch. rate: rows a second. others: of JobSettings. barrier: to begin by."""

    place: Place
    rows: int = 50
    rate: float | None = None
    others: dict[str, Any] = field(default_factory=dict)
    freeze: Freeze | None = None
    barrier: Any = None


def _run(wanted: Wanted, told: Path) -> None:
    """In the other process. It exits as the command does."""
    with ExitStack() as stack:
        file = stack.enter_context(told.open("a", buffering=1))

        def tell(what: dict[str, Any]) -> None:
            file.write(json.dumps(what) + "\n")

        def refused(message: str) -> None:
            tell({"event": "refused", "message": message})
            sys.exit(1)

        try:
            engine, table, vault = stack.enter_context(wanted.place.opened())
            freezer = _Freezer(wanted.freeze)
            freezer.watch(engine)
            work = _Reencrypt(table, row_keyrings(table, vault), lease=SEALING_LEASE)
            work.freezer = freezer
            stop = stack.enter_context(stops_on_signals())
            pace = PaceSettings(most_rows=wanted.rows, rows_per_second=wanted.rate)

            def notify(one: Event) -> None:
                tell(as_json(one))
                if isinstance(one, Advanced):
                    freezer.at(TOLD)

            job = Job(work, engine, JobSettings(pace, **(QUICK | wanted.others)), notify=notify, stop=stop)
            if wanted.barrier is not None:
                wanted.barrier.wait(WITHIN_SECONDS)
            tally = job.run()
        except (VaultError, KmsError) as error:
            refused(str(error))
        except SQLAlchemyError as error:
            refused(f"unforeseen {type(getattr(error, 'orig', None) or error).__name__}")
        sys.exit(STATUS[tally.outcome])


class _Reencrypt(Reencrypt):
    """Comes to a place where a page was read and nothing of it is written."""

    freezer = _Freezer(None)

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        self.freezer.at(RENEWING)
        return super().renew(rows)


class Run:
    """A run in a process of its own."""

    def __init__(self, wanted: Wanted, told: Path) -> None:
        self._told = told
        self._process = PROCESSES.Process(target=_run, args=(wanted, told), daemon=True)
        self._process.start()

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind so far."""
        lines = self._told.read_text().split("\n")[:-1] if self._told.exists() else []
        return [one for one in map(json.loads, lines) if one["event"] == kind]

    @property
    def message(self) -> str:
        """Why it was refused."""
        return str(self.told("refused")[-1]["message"])

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def until(self, happened: Callable[["Run"], bool]) -> bool:
        """Wait for it. False when the run ended before."""
        end = time.monotonic() + WITHIN_SECONDS
        while not happened(self):
            if not self.is_running:
                return happened(self)
            assert time.monotonic() < end, self._told.read_text()[-2000:]
            time.sleep(0.005)
        return True

    def until_told(self, kind: str, times: int = 1) -> bool:
        return self.until(lambda run: len(run.told(kind)) >= times)

    def until_stopped(self) -> None:
        """Until the system says that it is stopped, as by SIGSTOP."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        assert self.until(lambda _run: stat.read_text().rpartition(")")[2].split()[0] in "Tt")

    def send(self, number: int) -> None:
        os.kill(self._process.pid or 0, number)

    def kill9(self) -> None:
        self._process.kill()
        self._process.join()

    def end(self) -> int:
        """Wait for its exit status."""
        self._process.join(WITHIN_SECONDS)
        assert self._process.exitcode is not None, self._told.read_text()[-2000:]
        return self._process.exitcode


@contextmanager
def run(place: Place, rows: int = 50, **wanted: Any) -> Iterator[Run]:
    """freeze, barrier, rate and the settings of the job: see Wanted. Nothing is left of it at the end."""
    own = {name: wanted.pop(name) for name in ("rate", "freeze", "barrier") if name in wanted}
    told = place.folder / f"run-{time.monotonic_ns()}.jsonl"
    one = Run(Wanted(place, rows, others=wanted, **own), told)
    try:
        yield one
    finally:
        one.kill9()


def run_to_the_end(place: Place, rows: int = 1000, **wanted: Any) -> tuple[int, Run]:
    with run(place, rows, **wanted) as one:
        return one.end(), one
