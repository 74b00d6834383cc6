"""Neighbours: questions that are alike but for the conditions on one column, or but for their price."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vault.expression import Comparison
from vault.question import Question
from vault.watching.asked import Asked

__all__ = ["Neighbours", "One", "neighbours", "on", "without"]


@dataclass(frozen=True, slots=True)
class One:
    """A question, its canonical text, and the charge by which it was asked."""

    question: Question
    text: str
    asked: Asked


@dataclass(frozen=True, slots=True)
class Neighbours:
    """column: whose conditions they differ in; None where they do not, and were asked at several prices.

    all: in the order in which they were asked.
    """

    dataset: str
    column: str | None
    all: tuple[One, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(sorted({one.text for one in self.all}))

    @property
    def principals(self) -> tuple[str, ...]:
        return tuple(sorted({one.asked.principal for one in self.all}))

    @property
    def entries(self) -> tuple[int, ...]:
        return tuple(sorted({one.asked.sequence for one in self.all}))

    @property
    def different(self) -> int:
        """How many of them are not the same as another."""
        if self.column is not None:
            return len({one.text for one in self.all})
        return len({(one.asked.price, one.asked.epoch) for one in self.all})


def neighbours(asked: Iterable[Asked]) -> Iterator[Neighbours]:
    """All there are, each with at least two that differ. asked: in order."""
    families: defaultdict[tuple[object, ...], list[One]] = defaultdict(list)
    for charge in asked:
        for question in charge.questions:
            of_it = (question.aggregate, question.of, question.by, question.levels, question.first)
            families[charge.dataset, *of_it].append(One(question, question.canonical(), charge))
    for family in families.values():
        for column in (None, *sorted({condition.column for one in family for condition in one.question.where})):
            yield from _of_column(family, column)


def on(question: Question, column: str | None) -> tuple[Comparison, ...]:
    """Its conditions on a column."""
    return tuple(condition for condition in question.where if condition.column == column)


def without(question: Question, column: str | None) -> tuple[Comparison, ...]:
    """All others of them."""
    return tuple(condition for condition in question.where if condition.column != column)


def _of_column(family: Iterable[One], column: str | None) -> Iterator[Neighbours]:
    alike: defaultdict[tuple[Comparison, ...], list[One]] = defaultdict(list)
    for one in family:
        alike[without(one.question, column)].append(one)
    for each in alike.values():
        found = Neighbours(each[0].asked.dataset, column, tuple(each))
        if found.different > 1:
            yield found
