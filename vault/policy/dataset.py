"""Dataset policy: what may be asked about a table, within which public limits, for how much epsilon in all."""

import itertools
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dp.caps import MAX_CAP
from dp.request import NAME_CHARACTERS
from vault.expression import Column, Expression
from vault.policy.allowance import Allowance, Group, Person, Windows
from vault.policy.amount import AttoDelta, NanoEpsilon
from vault.policy.bounds import Bounds, exact
from vault.policy.declared_expression import DeclaredExpression
from vault.policy.length import Length
from vault.policy.name import Name, refusal
from vault.policy.section import Section
from vault.policy.unknown_groups import UnknownGroups

GroupLabel = int | str
# Ours: data that is new oftener than that is asked about by time, not by epochs.
SHORTEST_EPOCH: Final = timedelta(hours=1)
# Ours: what a person waits for, and room for a machine that others use too.
DEADLINE: Final = timedelta(seconds=30)
SHORTEST_DEADLINE: Final = timedelta(seconds=1)
LONGEST_DEADLINE: Final = timedelta(hours=1)


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


def _reason(text: str) -> str:
    """Why a copy has a budget of its own, as the ledger can keep it."""
    if not 10 <= len(text) <= NAME_CHARACTERS or not text.isprintable() or text != text.strip():
        raise refusal(f"expected a reason in words, of 10 to {NAME_CHARACTERS} printable characters")
    return text


def _epoch(length: timedelta) -> timedelta:
    if length < SHORTEST_EPOCH:
        raise refusal('new answers are given every hour at most: write "1h" or more, such as "90d"')
    return length


def _deadline(value: timedelta) -> timedelta:
    if not SHORTEST_DEADLINE <= value <= LONGEST_DEADLINE:
        raise refusal('expected how long a question may take, from "1s" to "1h"')
    return value


class DatasetPolicy(Section):
    """A table opened for questions.

    unit: the column that names the protected person; rows_per_unit: rows a person counts with in each group (c);
    groups_per_unit: groups a person counts in when a question is grouped (k); lifetime_nano: what all questions
    ever may cost one person, in nano-epsilon, written `lifetime_epsilon`; lifetime_atto_delta: with what probability
    they may cost more, in units of 1e-18, written `lifetime_delta`; 0 where only the sum of epsilon counts;
    accept_unbound: why sealed fields that do not bind the unit are opened nevertheless. bounds: of columns;
    expressions: by name, with their bounds; groups: the labels of columns; unknown: columns that are grouped by without
    labels; edges: of histograms, by the name of a column or an expression. deadline: after it a service tells what
    became of a question, neither before nor later.

    least_nano, most_nano: what one question may cost, written `least_epsilon` and `most_epsilon`. answers: `shared`
    where everybody is given what was answered to the first who asked, `own` where each asker pays for answers alone.
    new_answers_every: how long an answer is repeated before the question is answered anew, at a new charge.
    separate_budget: why a dataset over the same table as another does not share its lifetime. budget: what all may
    spend in a window of time; column: on a column; each_analyst, analyst: by one asker; group: by several together.
    """

    table: Name
    unit: Name
    rows_per_unit: Annotated[int, Field(ge=1, le=MAX_CAP)]
    groups_per_unit: Annotated[int, Field(ge=1, le=MAX_CAP)] = 1
    lifetime_nano: Annotated[NanoEpsilon, Field(alias="lifetime_epsilon")]
    lifetime_atto_delta: Annotated[AttoDelta, Field(alias="lifetime_delta")] = 0
    least_nano: Annotated[NanoEpsilon | None, Field(alias="least_epsilon")] = None
    most_nano: Annotated[NanoEpsilon | None, Field(alias="most_epsilon")] = None
    answers: Literal["shared", "own"] = "shared"
    new_answers_every: Annotated[Length, AfterValidator(_epoch)] | None = None
    separate_budget: Annotated[str, AfterValidator(_reason)] | None = None
    budget: Windows | None = None
    column: dict[Name, Allowance] = Field(default_factory=dict)
    each_analyst: Allowance | None = None
    analyst: dict[Person, Allowance] = Field(default_factory=dict)
    group: dict[Person, Group] = Field(default_factory=dict)
    bounds: dict[Name, Bounds] = Field(default_factory=dict)
    groups: dict[Name, Annotated[tuple[GroupLabel, ...], BeforeValidator(_labels)]] = Field(default_factory=dict)
    expressions: dict[Name, DeclaredExpression] = Field(default_factory=dict)
    edges: dict[Name, Annotated[tuple[Decimal, ...], BeforeValidator(_edges)]] = Field(default_factory=dict)
    unknown: dict[Name, UnknownGroups] = Field(default_factory=dict)
    accept_unbound: Annotated[str | None, Field(min_length=10)] = None
    deadline: Annotated[Length, AfterValidator(_deadline)] = DEADLINE

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
