"""Asking by a deadline: the door of a service, whose analysts may know what an answer says and nothing of its making.

    arrival ─> admit (or refuse at once) ─> slot ─> charge ─> read ─> store               deadline ─> outcome
                                                       last moment to store ┘  <─ a tenth ─> ┘

An answer that is not stored by its last moment never is: its charge is recorded as one without an answer, and the
question asked again is charged again.
"""

from collections.abc import Mapping
from typing import Final

import dp
from dp.last_moment import LastMoment
from dp.ledger import Ledger
from vault.bridge import answer, answers
from vault.deadline.desk import Desk
from vault.deadline.outcome import Outcome
from vault.deadline.room import room_of
from vault.project import Project
from vault.question import Question, admit

__all__ = ["answer_by_deadline", "answers_by_deadline", "margin"]

# Ours: of a deadline the part that is left for storing the answer, and seconds that are enough for it.
STORING: Final = 1 / 10
MOST_STORING: Final = 1.0


def answer_by_deadline(
    desk: Desk,
    project: Project,
    ledger: Ledger,
    dataset: str,
    question: Question,
    *,
    price: dp.Price,
    who: str,
    request_id: str | None = None,
    arrived: float,
) -> Outcome:
    """What became of the question, told at the dataset's deadline counted from `arrived`, by the desk's clock.

    price: as price_of() gives it. request_id: as of answer().
    Raises: QuestionError and BusyError at once, before anything is charged; they hang on public things alone.
    """
    question = admit(question, project.policy, dataset)
    rules = project.policy.dataset[dataset]
    seconds = rules.deadline.total_seconds()
    until = LastMoment(arrived + seconds - margin(seconds), desk.clock)

    def work() -> bytes:
        return answer(
            project, ledger, dataset, question, price=price, who=who, request_id=request_id, until=until
        ).to_json()

    return desk.ask(work, arrived=arrived, seconds=seconds, room=room_of(rules, [question]))


def answers_by_deadline(
    desk: Desk,
    project: Project,
    ledger: Ledger,
    dataset: str,
    prices: Mapping[Question, dp.Price],
    *,
    atto_delta: int,
    who: str,
    request_id: str | None = None,
    arrived: float,
) -> Outcome:
    """The same of a batch, which has the deadline of one question. prices, atto_delta: as of answers()."""
    admitted = {admit(question, project.policy, dataset): price for question, price in prices.items()}
    rules = project.policy.dataset[dataset]
    seconds = rules.deadline.total_seconds()
    until = LastMoment(arrived + seconds - margin(seconds), desk.clock)

    def work() -> bytes:
        together = answers(
            project, ledger, dataset, admitted, atto_delta=atto_delta, who=who, request_id=request_id, until=until
        )
        return together.to_json()

    return desk.ask(work, arrived=arrived, seconds=seconds, room=room_of(rules, admitted))


def margin(seconds: float) -> float:
    """How long before the deadline the last moment to store an answer is, in seconds."""
    return min(STORING * seconds, MOST_STORING)
