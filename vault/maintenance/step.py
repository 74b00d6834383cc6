"""Step: one kind of work that maintenance does when it is due, and how it ended."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Outcome", "Result", "Step", "Task"]


class Step(StrEnum):
    """In the order in which they are looked at; MAINTAIN is the run over all of them."""

    ROTATE = "rotate"
    REWRAP = "rewrap"
    REENCRYPT = "reencrypt"
    VERIFY = "verify"
    RETIRE = "retire"
    DESTROY = "destroy"
    RECOVER = "recover"
    EVENTS = "events"
    EPOCH = "epoch"
    WATCH = "watch"
    AUDIT_HEAD = "audit-head"
    COUNT = "count"
    MAINTAIN = "maintain"


class Outcome(StrEnum):
    DONE = "done"
    WAITING = "waiting"  # nothing failed; it cannot go on before something else happened, which is said
    POSTPONED = "postponed"  # it would not end in the window, so it was not begun
    STOPPED = "stopped"  # after its batch; it goes on next time
    INCOMPLETE = "incomplete"  # rows are left, or fail
    FAILED = "failed"

    @property
    def is_failure(self) -> bool:
        return self in {Outcome.FAILED, Outcome.INCOMPLETE}


@dataclass(frozen=True, slots=True)
class Result:
    """told: for an operator, never a value. rows: looked at. goal: what was reached, to know when it is no more so."""

    outcome: Outcome
    told: str
    rows: int = 0
    goal: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What is due. scope: a table, a key id or nothing. seconds: an estimate. resumes: begun again it goes on.

    run: is given the event that asks for the end after the batch in hand. Raises: the errors of what it does.
    """

    step: Step
    scope: str
    why: str
    run: Callable[[threading.Event], Result]
    seconds: float = 0.0
    resumes: bool = False
