"""Dataset policy: what may be asked about a table, within which public limits, for how much epsilon in all."""

import itertools
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dp.epsilon import parse_epsilon
from dp.errors import DpError
from dp.grid import Grid
from vault.exact_number import exact_number, normal
from vault.policy.name import Name, refusal
from vault.policy.section import Section

GroupLabel = int | str


def _exact(value: Any) -> Decimal:
    """A number of the policy, exactly: the file's floats arrive as Decimal, text is read as written."""
    try:
        if isinstance(value, str):
            return exact_number(value)
        if isinstance(value, Decimal):
            return normal(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return normal(Decimal(value))
    except ValueError as error:
        reason = str(error)
    else:
        reason = 'expected a number, best as text: "0.01"'
    raise refusal(reason)


def _nano(value: Any) -> int:
    """A lifetime epsilon in nano-epsilon."""
    try:
        return parse_epsilon(value)
    except DpError as error:
        reason = str(error)
    raise refusal(reason)


def _labels(value: Any) -> tuple[GroupLabel, ...]:
    """Declared group labels: integers, or texts, each once."""
    if not isinstance(value, list | tuple) or not value:
        raise refusal("expected a list of the groups there are, such as [1, 2, 3]")
    kinds = {type(label) for label in value}
    if kinds not in ({int}, {str}):
        raise refusal("group labels are all integers or all texts")
    if len(set(value)) != len(value):
        raise refusal("a group label stands twice")
    return tuple(value)


class Bounds(Section):
    """The range a column's values are clamped to and the grid step; chosen from the domain, never from the data."""

    lower: Annotated[Decimal, BeforeValidator(_exact)]
    upper: Annotated[Decimal, BeforeValidator(_exact)]
    step: Annotated[Decimal | None, BeforeValidator(_exact)] = None

    def grid(self, values: Literal["int", "float"]) -> Grid:
        """The grid of the bounds for a column of ints or floats; the step is 1 unless given.

        Raises: dp.errors.ParameterError if the step does not divide the bounds, or the grid is too fine.
        """
        return Grid.of(self.lower, self.upper, Decimal(1) if self.step is None else self.step, values=values)


class DatasetPolicy(Section):
    """A table opened for questions.

    unit: the column that names the protected person; rows_per_unit: rows a person counts with in each group (c);
    groups_per_unit: groups a person counts in when a question is grouped (k); lifetime_nano: what all questions
    ever may cost one person, in nano-epsilon, written `lifetime_epsilon`; accept_unbound: why sealed fields that
    do not bind the unit are opened nevertheless.
    """

    table: Name
    unit: Name
    rows_per_unit: Annotated[int, Field(ge=1)]
    groups_per_unit: Annotated[int, Field(ge=1)] = 1
    lifetime_nano: Annotated[int, BeforeValidator(_nano), Field(alias="lifetime_epsilon")]
    bounds: dict[Name, Bounds] = Field(default_factory=dict)
    groups: dict[Name, Annotated[tuple[GroupLabel, ...], BeforeValidator(_labels)]] = Field(default_factory=dict)
    accept_unbound: Annotated[str | None, Field(min_length=10)] = None

    def group_labels(self, by: Iterable[str]) -> tuple[tuple[GroupLabel, ...], ...]:
        """Every declared group of a question: the product of the columns' labels in order; ((),) when ungrouped."""
        return tuple(itertools.product(*(self.groups[column] for column in by)))
