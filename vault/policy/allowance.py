"""Allowance: what may be spent within a day, a week, a month or a quarter, by all or by some, or on one column.

It narrows down what a lifetime allows, and never adds to it. What a window refills has been spent for life.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from dp.errors import ParameterError
from dp.request import require_name
from vault.policy.amount import NanoCap
from vault.policy.name import refusal
from vault.policy.section import Section

__all__ = ["Allowance", "Group", "Person", "Windows"]

SPANS: Final = ("day", "week", "month", "quarter", "ever")


def _person(name: str) -> str:
    try:
        return require_name("name", name)
    except ParameterError as error:
        reason = str(error)
    raise refusal(reason)


def _members(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise refusal("a member stands twice; leave the second one out")
    return names


# An analyst, or a group of them, as --who names them: no identifier of SQL.
Person = Annotated[str, AfterValidator(_person)]


class Windows(Section):
    """Of a whole dataset, whose lifetime stands elsewhere. In nano-epsilon, each written as an epsilon."""

    day: NanoCap | None = None
    week: NanoCap | None = None
    month: NanoCap | None = None
    quarter: NanoCap | None = None

    def caps(self) -> dict[str, int]:
        """By span, the shortest first; those that are written."""
        found = ((span, getattr(self, span, None)) for span in SPANS)
        return {span: cap for span, cap in found if cap is not None}


class Allowance(Windows):
    """Of a column, of one analyst, or of each. ever: for life."""

    ever: NanoCap | None = None


class Group(Allowance):
    """Of several analysts together. members: their names."""

    members: Annotated[tuple[Person, ...], Field(strict=False, min_length=1), AfterValidator(_members)]
