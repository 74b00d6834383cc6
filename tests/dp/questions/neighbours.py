"""Neighbours: one privacy unit more, hostile values and all, must not move a total further than declared.

No sampling: the aggregates are compared exactly, and the same random bits are played to both.
"""

from dp.price import Price
from dp.questions.question import Aggregates, Question
from tests.dp.rows import SALT, Row, chunk_of
from tests.dp.seeded import RecordingRandom, SeededRandom


def aggregates_of(question: Question, rows: list[Row], *, floats: bool = True) -> Aggregates:
    return question.aggregate(question.bound([chunk_of(rows, floats=floats)], SALT))


def moved(one: Aggregates, other: Aggregates) -> list[int]:
    """Of each part: how far it moved, added up over the groups."""
    return [sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in zip(one.totals, other.totals, strict=True)]


def assert_a_unit_moves_no_more_than_declared(question: Question, rows: list[Row], *, floats: bool = True) -> None:
    """Remove each unit in turn, and then look at what the same noise gives."""
    whole = aggregates_of(question, rows, floats=floats)
    for unit in {row.unit for row in rows}:
        without = aggregates_of(question, [row for row in rows if row.unit != unit], floats=floats)
        for distance, declared in zip(moved(whole, without), question.sensitivity(), strict=True):
            assert distance <= declared
        assert _replayed(question, whole) == _replayed(question, without)


def _replayed(question: Question, aggregates: Aggregates) -> tuple[object, ...]:
    """What an observer of the noise sees besides the values: which bits were asked for, and which groups came."""
    random = RecordingRandom(SeededRandom(5))
    groups = question.release(aggregates, Price.pure(10**9), random)
    return (random.asked, [group.group for group in groups], [[part.name for part in g.parts] for g in groups])
