"""Question: one aggregate over a dataset, with an optional filter and groups, and its one canonical text.

Questions that ask the same in other words are equal and have the same text, so that a repeat is recognised: filters
and groups are sorted and stand once, a number has one spelling, `in` of one value is `=`, an expression has one order.
What needs a column's type to see (that `a > 2` is `a >= 3` of whole numbers) is done by admission.py.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from vault.exact_number import normal, spell
from vault.expression import Column, Comparison, Expression
from vault.expression.form import columns_of

Aggregate = Literal[
    "count", "count_units", "count_distinct", "sum", "mean", "variance", "std", "quantile", "histogram", "top"
]
AGGREGATES: Final[tuple[Aggregate, ...]] = (
    "count", "count_units", "count_distinct", "sum", "mean", "variance", "std", "quantile", "histogram", "top",
)  # fmt: skip
OF_NO_COLUMN: Final = ("count", "count_units", "top")
# Ours: as fine as anybody reads a quantile, and as long as a list that a person reads.
QUANTILE_DECIMALS: Final = 4
MOST_LEVELS: Final = 100
MOST_TOP: Final = 1000


@dataclass(frozen=True, slots=True)
class Question:
    """`AGGREGATE(of) where ... by ...`.

    of: what is added up, averaged or put in order; None for count, count_units and top. where: conditions that a row
    must all meet. by: the columns of the groups; an answer's groups are in this order. levels: of the quantiles, above
    0 and below 1. first: how many groups top is to name.
    """

    aggregate: Aggregate
    of: Expression | None = None
    where: tuple[Comparison, ...] = ()
    by: tuple[str, ...] = ()
    levels: tuple[Decimal, ...] = ()
    first: int = 0

    def __post_init__(self) -> None:
        if self.aggregate not in AGGREGATES:
            raise ValueError(f"an aggregate is one of {', '.join(AGGREGATES)}")
        if (self.of is None) != (self.aggregate in OF_NO_COLUMN):
            raise ValueError(f"{', '.join(OF_NO_COLUMN)} have no column; all others have one")
        if self.aggregate == "count_distinct" and not isinstance(self.of, Column):
            raise ValueError("count_distinct is of a column")
        if bool(self.levels) != (self.aggregate == "quantile") or bool(self.first) != (self.aggregate == "top"):
            raise ValueError("quantile has levels, top says how many; no other has either")
        object.__setattr__(self, "where", tuple(sorted(set(self.where), key=lambda one: one.place)))
        object.__setattr__(self, "by", tuple(sorted(set(self.by))))
        object.__setattr__(self, "levels", tuple(sorted({require_level(level) for level in self.levels})))
        if len(self.levels) > MOST_LEVELS:
            raise ValueError(f"at most {MOST_LEVELS} quantiles at once")
        if self.aggregate == "top" and not (self.by and 1 <= self.first <= MOST_TOP):
            raise ValueError(f"top(N) by COLUMN names the N groups with most rows, N from 1 to {MOST_TOP}")

    def canonical(self) -> str:
        """The question as text; equal questions have equal texts, and `parse` gives the same question again."""
        text = f"{self.aggregate}({', '.join(self._arguments())})"
        if self.where:
            text += f" where {' and '.join(map(str, self.where))}"
        if self.by:
            text += f" by {', '.join(self.by)}"
        return text

    def _arguments(self) -> list[str]:
        if self.aggregate == "top":
            return [str(self.first)]
        return ["*" if self.of is None else str(self.of), *map(spell, self.levels)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the question reads, each once, sorted."""
        own = frozenset() if self.of is None else columns_of(self.of)
        return tuple(sorted({*own, *self.by, *(comparison.column for comparison in self.where)}))


def require_level(level: Decimal) -> Decimal:
    """The same number, when it is the level of a quantile.

    Raises: ValueError.
    """
    exact = normal(level)
    if not 0 < exact < 1:
        raise ValueError("a quantile's level is above 0 and below 1; low(x) and high(x) stand for least and greatest")
    if -int(exact.as_tuple().exponent) > QUANTILE_DECIMALS:
        raise ValueError(f"a quantile's level has at most {QUANTILE_DECIMALS} decimals, such as 0.9")
    return exact
