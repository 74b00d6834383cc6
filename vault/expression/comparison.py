"""Comparison: one column against one or more literals, with one spelling."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from vault.exact_number import normal, spell

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in"]
Value = Decimal | str
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

    @property
    def texts(self) -> bool:
        """Whether the values are texts, and not numbers."""
        return isinstance(self.values[0], str)

    @property
    def place(self) -> tuple[str, int, str]:
        """Where it stands among the conditions of one filter."""
        return self.column, OPERATORS.index(self.operator), str(self)

    def __str__(self) -> str:
        spelled = [_literal(value) for value in self.values]
        right = f"({', '.join(spelled)})" if self.operator == "in" else spelled[0]
        return f"{self.column} {self.operator} {right}"


def _literal(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else spell(value)
