"""Run: looks, step by step, at what is due, does what ends in the window, and writes down how each ended."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from kms.errors import KmsError
from vault.errors import JobRunningError, VaultError
from vault.maintenance.records import MaintenanceRecords, Recorded
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.maintenance.window import Window

__all__ = ["Done", "Looks", "MaintenanceRun", "failed_result"]

# Ours: how often it is looked whether the end has come.
LOOK_SECONDS: Final = 0.5
EXPECTED: Final = (VaultError, KmsError, SQLAlchemyError, OSError)
# What is due now of each step: asked when the steps before it are done, since they change it.
Looks = Mapping[Step, Callable[[], Sequence[Task]]]


@dataclass(frozen=True, slots=True)
class Done:
    """A task, or the look at a step, that ended."""

    step: Step
    scope: str
    result: Result


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class MaintenanceRun:
    """tell: is called with what ends. is_lost: whether an operator wishes the end; raises when another took the turn.

    stop: set by whoever wants the end after the batch in hand; the window's end sets it too.
    """

    records: MaintenanceRecords
    window: Window
    tell: Callable[[Done], None]
    stop: threading.Event = field(default_factory=threading.Event)
    is_lost: Callable[[], bool] = _never
    clock: Callable[[], float] = time.monotonic

    def run(self, looks: Looks) -> list[Done]:
        """One failure does not keep the other steps from being done. Raises: JobRunningError when the turn is lost."""
        ended: list[Done] = []
        before = self.records.read()  # whoever has the turn is alone in writing them
        with self._watched():
            for step, look in looks.items():
                if self._is_over():
                    break
                for one in self._step(step, look, before.get((step, ""))):
                    self.tell(one)
                    ended.append(one)
        return ended

    def _step(self, step: Step, look: Callable[[], Sequence[Task]], last: Recorded | None) -> Sequence[Done]:
        begun = self.records.now()
        try:
            tasks = look()
        except EXPECTED as error:
            return [self._noted(step, "", failed_result(error), begun)]
        self._forgive(step, last, tasks, begun)
        return [self._one(task) for task in tasks if not self._is_over()]

    def _one(self, task: Task) -> Done:
        if not self.window.admits(task.seconds, self.clock(), resumes=task.resumes):
            told = f"due ({task.why}), and takes about {task.seconds:.0f} s: longer than the window has left"
            return Done(task.step, task.scope, Result(Outcome.POSTPONED, told))
        begun = self.records.now()
        try:
            result = task.run(self.stop)
        except JobRunningError as busy:
            result = Result(Outcome.WAITING, str(busy))
        except EXPECTED as error:
            result = failed_result(error)
        return self._noted(task.step, task.scope, result, begun)

    def _noted(self, step: Step, scope: str, result: Result, begun: datetime) -> Done:
        self.records.note(step, scope, result, begun)
        return Done(step, scope, result)

    def _forgive(self, step: Step, last: Recorded | None, tasks: Sequence[Task], begun: datetime) -> None:
        """A look that failed and now went well has failed no more."""
        if last is not None and last.outcome is Outcome.FAILED and not any(task.scope == "" for task in tasks):
            self.records.note(step, "", Result(Outcome.DONE, "nothing is due"), begun)

    def _is_over(self) -> bool:
        return self.stop.is_set() or self.is_lost()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Meanwhile what runs is asked to stop when the window ends, or the turn."""
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended,), name="noisevault maintain", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(min(LOOK_SECONDS, self.window.left(self.clock()))):
            try:
                over = self.is_lost() or self.window.left(self.clock()) <= 0
            except JobRunningError:  # the run itself finds it out when the work has stopped
                over = True
            if over:
                self.stop.set()
                return


def failed_result(error: BaseException) -> Result:
    """What a driver says quotes rows, so that of it only the kind is told."""
    if isinstance(error, SQLAlchemyError):
        return Result(Outcome.FAILED, f"the database refused or did not answer ({type(error).__name__})")
    if isinstance(error, OSError):
        return Result(Outcome.FAILED, f"{error.strerror}: {error.filename}")
    return Result(Outcome.FAILED, str(error))
