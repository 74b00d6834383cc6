"""Desk: takes a few questions at a time and tells what became of each at its deadline, neither before nor after.

    take a slot ─> work, elsewhere ─────────────> done or not      the slot is free again when both have come
              └──> sleep ───────────────────────> deadline ─> tell

Nobody waits for the work: whoever asked sleeps until the deadline and looks then, so that the end of the work wakes
nobody. A slot stays taken until the deadline, or it would tell whoever fills the others when the work was done.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple

from dp.errors import BudgetExhaustedError, ParameterError, RequestIdError, UnknownDatasetError
from dp.ledger.errors import QuestionPriceError, StaleEpochError
from vault.deadline.errors import BusyError
from vault.deadline.outcome import Outcome
from vault.question import QuestionError

__all__ = ["Desk", "Pending"]

# What the question, the policy and the ledger alone decide, before anything is read; after a charge none leaves ask().
REFUSALS: Final = (
    BudgetExhaustedError,
    ParameterError,
    QuestionError,
    QuestionPriceError,
    RequestIdError,
    StaleEpochError,
    UnknownDatasetError,
)


class Finished(NamedTuple):
    """cause: the class of what failed, for operators."""

    outcome: Outcome
    cause: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A question in hand. due: its deadline, in seconds of the desk's clock."""

    due: float
    room: int
    future: "Future[Finished]"

    def at_the_deadline(self) -> Outcome:
        """What became of it. To be called at the deadline: what is not done then never is."""
        if self.future.done() and not self.future.cancelled() and self.future.exception() is None:
            return self.future.result().outcome
        return Outcome.not_released(self.room)


class Desk:
    """Safe for threads.

    slots: how many questions are in hand at most. executor: as many workers; threads of its own by default. In
    processes the work has to pickle. failed: is told the class of what failed, and no more.
    clock: seconds, of a clock that nobody sets. sleep: for seconds.
    """

    def __init__(
        self,
        slots: int,
        executor: Executor | None = None,
        *,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self._sleep = sleep
        self._slots = slots
        self._executor = executor or ThreadPoolExecutor(slots, thread_name_prefix="noisevault question")
        self._failed = failed
        self._lock = threading.Lock()
        self._taken: list[Pending] = []

    def close(self) -> None:
        """Wait for what is in hand, and take no more."""
        self._executor.shutdown()

    def ask(self, work: Callable[[], bytes], *, arrived: float, seconds: float, room: int) -> Outcome:
        """What became of the work, so many seconds after its arrival. As take().

        Raises: BusyError, at once.
        """
        pending = self.take(work, arrived=arrived, seconds=seconds, room=room)
        while (left := pending.due - self.clock()) > 0:
            self._sleep(left)
        return pending.at_the_deadline()

    def take(self, work: Callable[[], bytes], *, arrived: float, seconds: float, room: int) -> Pending:
        """Begin the work; for whoever can sleep in a better way than ask().

        work: gives an answer's canonical bytes. arrived: of the request, by this desk's clock. room: as of Outcome.
        Raises: BusyError, before the work is begun.
        """
        with self._lock:
            now = self.clock()
            self._taken = [one for one in self._taken if one.due > now or not one.future.done()]
            if len(self._taken) >= self._slots:
                raise BusyError(self._slots)
            pending = Pending(arrived + seconds, room, self._begin(work, room))
            self._taken.append(pending)
        pending.future.add_done_callback(self._report)
        return pending

    def _begin(self, work: Callable[[], bytes], room: int) -> "Future[Finished]":
        try:
            return self._executor.submit(finished, work, room)
        except RuntimeError as error:  # closed, or a worker process died: that is told at the deadline too
            ended: Future[Finished] = Future()
            ended.set_result(Finished(Outcome.not_released(room), type(error).__name__))
            return ended

    def _report(self, future: "Future[Finished]") -> None:
        error = future.exception()
        cause = future.result().cause if error is None else type(error).__name__
        if cause:
            self._failed(cause)


def finished(work: Callable[[], bytes], room: int) -> Finished:
    """How the work ends. Nothing of an error that is no refusal goes on but its class."""
    try:
        return Finished(Outcome.answered(work(), room), "")
    except REFUSALS as refusal:
        return Finished(Outcome.refused(str(refusal), room), "")
    except Exception as error:  # noqa: BLE001  (which kind it is may depend on the data)
        return Finished(Outcome.not_released(room), type(error).__name__)
