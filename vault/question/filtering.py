"""Filtering: which rows meet a question's conditions, on values in memory.

Total: a NULL, a NaN and a value of another type than the column's meet no condition, and nothing raises. A number
that is compared with a float column is read as the nearest float, so that 0.1 equals the 0.1 that was stored.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vault.expression import Comparison
from vault.policy import ColumnType

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(comparison: Comparison, values: Sequence[object], kind: ColumnType) -> list[bool]:
    """For each value of the comparison's column, of the declared kind, whether it meets the condition."""
    wanted = [_literal(value, kind) for value in comparison.values]
    types = (int, float) if kind == "float" else (int,) if kind == "int" else (str,)
    if comparison.operator == "in":
        allowed = set(wanted)
        return [isinstance(value, types) and value in allowed for value in values]
    compare, literal = _COMPARE[comparison.operator], wanted[0]
    return [
        isinstance(value, types) and value == value and compare(value, literal)  # noqa: PLR0124  NaN is unlike itself
        for value in values
    ]


def _literal(value: Any, kind: ColumnType) -> Any:
    if kind == "str":
        return value
    return int(value) if kind == "int" else float(value)
