"""Question: one aggregate over a dataset, with an optional filter and groups, and its one canonical text.

Questions that ask the same in other words are equal and have the same text, so that a repeat is recognised: filters
and groups are sorted and stand once, a number has one spelling, `in` of one value is `=`.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from vault.exact_number import normal, spell

Aggregate = Literal["count", "sum", "mean"]
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in"]
Value = Decimal | str
AGGREGATES: Final[tuple[Aggregate, ...]] = ("count", "sum", "mean")
OPERATORS: Final[tuple[Operator, ...]] = ("=", "!=", "<", "<=", ">", ">=", "in")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One condition of a filter. A row whose column is NULL (or NaN) meets no condition, not even `!=`.

    values: one value, or for `in` one or more, all numbers or all texts. Numbers are exact.
    """

    column: str
    operator: Operator
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise ValueError(f"an operator is one of {' '.join(OPERATORS)}")
        if not self.values or (self.operator != "in" and len(self.values) != 1):
            raise ValueError("a comparison has one value, and `in` at least one")
        if len({isinstance(value, str) for value in self.values}) != 1:
            raise ValueError("the values of `in` are all numbers or all texts")
        values = {value if isinstance(value, str) else normal(value) for value in self.values}
        object.__setattr__(self, "values", tuple(sorted(values)))
        if self.operator == "in" and len(values) == 1:
            object.__setattr__(self, "operator", "=")

    @property
    def value(self) -> Value:
        """The first value: the only one, unless the operator is `in`."""
        return self.values[0]

    def __str__(self) -> str:
        spelled = [_literal(value) for value in self.values]
        right = f"({', '.join(spelled)})" if self.operator == "in" else spelled[0]
        return f"{self.column} {self.operator} {right}"


@dataclass(frozen=True, slots=True)
class Question:
    """`AGGREGATE(column) where ... by ...`. column: None for count, else what is added up or averaged.

    where: conditions that a row must all meet. by: the columns of the groups; an answer's groups are in this order.
    """

    aggregate: Aggregate
    column: str | None = None
    where: tuple[Comparison, ...] = ()
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.aggregate not in AGGREGATES:
            raise ValueError(f"an aggregate is one of {', '.join(AGGREGATES)}")
        if (self.column is None) != (self.aggregate == "count"):
            raise ValueError("count has no column; sum and mean have one")
        object.__setattr__(self, "where", tuple(sorted(set(self.where), key=_place)))
        object.__setattr__(self, "by", tuple(sorted(set(self.by))))

    def canonical(self) -> str:
        """The question as text; equal questions have equal texts, and `parse` gives the same question again."""
        text = f"{self.aggregate}({self.column or '*'})"
        if self.where:
            text += f" where {' and '.join(map(str, self.where))}"
        if self.by:
            text += f" by {', '.join(self.by)}"
        return text

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the question reads, each once, sorted."""
        own = () if self.column is None else (self.column,)
        return tuple(sorted({*own, *self.by, *(comparison.column for comparison in self.where)}))


def _place(comparison: Comparison) -> tuple[str, int, str]:
    return comparison.column, OPERATORS.index(comparison.operator), str(comparison)


def _literal(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else spell(value)
