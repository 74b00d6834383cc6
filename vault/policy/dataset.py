"""Dataset policy: what may be asked about a table, within which public limits, for how much epsilon in all."""

import itertools
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dp.delta import parse_delta
from dp.epsilon import parse_epsilon
from dp.errors import DpError
from vault.expression import Column, Expression
from vault.policy.bounds import Bounds, exact
from vault.policy.declared_expression import DeclaredExpression
from vault.policy.name import Name, refusal
from vault.policy.section import Section
from vault.policy.unknown_groups import UnknownGroups

GroupLabel = int | str


def _nano(value: Any) -> int:
    """A lifetime epsilon in nano-epsilon."""
    try:
        return parse_epsilon(value)
    except DpError as error:
        reason = str(error)
    raise refusal(reason)


def _atto(value: Any) -> int:
    """A lifetime delta in units of 1e-18."""
    try:
        return parse_delta(value)
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


def _edges(value: Any) -> tuple[Decimal, ...]:
    """Declared edges of a histogram: numbers, each above the one before."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise refusal("expected a list of two or more numbers between bins, such as [0, 18, 40, 65]")
    edges = tuple(map(exact, value))
    if any(low >= high for low, high in itertools.pairwise(edges)):
        raise refusal("edges stand in order, each above the one before")
    return edges


class DatasetPolicy(Section):
    """A table opened for questions.

    unit: the column that names the protected person; rows_per_unit: rows a person counts with in each group (c);
    groups_per_unit: groups a person counts in when a question is grouped (k); lifetime_nano: what all questions
    ever may cost one person, in nano-epsilon, written `lifetime_epsilon`; lifetime_atto_delta: with what probability
    they may cost more, in units of 1e-18, written `lifetime_delta`; 0 where only the sum of epsilon counts;
    accept_unbound: why sealed fields that do not bind the unit are opened nevertheless. bounds: of columns;
    expressions: by name, with their bounds; groups: the labels of columns; unknown: columns that are grouped by without
    labels; edges: of histograms, by the name of a column or an expression.
    """

    table: Name
    unit: Name
    rows_per_unit: Annotated[int, Field(ge=1)]
    groups_per_unit: Annotated[int, Field(ge=1)] = 1
    lifetime_nano: Annotated[int, BeforeValidator(_nano), Field(alias="lifetime_epsilon")]
    lifetime_atto_delta: Annotated[int, BeforeValidator(_atto), Field(alias="lifetime_delta")] = 0
    bounds: dict[Name, Bounds] = Field(default_factory=dict)
    groups: dict[Name, Annotated[tuple[GroupLabel, ...], BeforeValidator(_labels)]] = Field(default_factory=dict)
    expressions: dict[Name, DeclaredExpression] = Field(default_factory=dict)
    edges: dict[Name, Annotated[tuple[Decimal, ...], BeforeValidator(_edges)]] = Field(default_factory=dict)
    unknown: dict[Name, UnknownGroups] = Field(default_factory=dict)
    accept_unbound: Annotated[str | None, Field(min_length=10)] = None

    def group_labels(self, by: Iterable[str]) -> tuple[tuple[GroupLabel, ...], ...]:
        """Every declared group of a question: the product of the columns' labels in order; ((),) when ungrouped."""
        return tuple(itertools.product(*(self.groups[column] for column in by)))

    def named(self, of: Expression) -> str | None:
        """Under which name the policy declares what a question aggregates: its column, or its expression's name."""
        if isinstance(of, Column):
            return of.name
        text = str(of)
        return next((name for name, declared in self.expressions.items() if declared.text == text), None)

    def bounds_of(self, of: Expression) -> Bounds | None:
        """The bounds that the policy declares for it."""
        name = self.named(of)
        if name is None:
            return None
        return self.bounds.get(name) if isinstance(of, Column) else self.expressions[name]

    def edges_of(self, of: Expression) -> tuple[Decimal, ...] | None:
        """The edges of its histogram, as the policy declares them; a bin has its lower edge, the last has both."""
        name = self.named(of)
        return None if name is None else self.edges.get(name)
