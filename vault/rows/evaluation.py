"""Evaluation: an expression's value for each row, on opened values in memory, in IEEE 754 binary64 and nothing finer.

Total: nothing raises because of a value. A row of which any column that the expression reads is NULL, NaN, or of
another type than declared gives NaN, which is dropped later. What is divided by zero is infinite, or NaN for 0/0; an
infinite value is clamped later. A branch of `case` that is not taken does not matter, and a comparison with NaN is not
met. Whole numbers are read as the nearest float64, beyond 2**53 with rounding half to even, one by one. There is no
negative zero in a column, a literal, or the result of min and max.

+ - * / and abs are correctly rounded value by value, min and max are comparisons; so that a row's value depends neither
on the other rows nor on its place among them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vault.expression import Call, Case, Column, Comparison, Expression, Negated, Number, Operation
from vault.expression.form import Condition, columns_of
from vault.policy import ColumnType
from vault.rows.arrays import fits

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_ARITHMETIC: Final[Mapping[str, np.ufunc]] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_RELATIONS: Final[Mapping[str, np.ufunc]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


def evaluated(
    expression: Expression, columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, ColumnType], rows: int
) -> Floats:
    """One float64 a row; NaN where the row does not count. kinds: the declared types of the columns. rows: how many."""
    values: dict[str, Floats | Sequence[Any]] = {}
    missing = np.zeros(rows, dtype=np.bool_)
    for name in columns_of(expression):
        kind, given = kinds[name], columns[name]
        fitting = [fits(value, kind) for value in given]
        missing |= ~np.array(fitting, dtype=np.bool_)
        if kind == "str":
            values[name] = given
        else:
            read = [float(value) if fit else np.nan for value, fit in zip(given, fitting, strict=True)]
            values[name] = np.array(read, dtype=np.float64) + 0.0  # which leaves no negative zero
            missing |= np.isnan(values[name])
    with np.errstate(all="ignore"):
        found = _of(expression, values, rows)
    return np.where(missing, np.nan, found)


def _of(expression: Expression, values: Mapping[str, Any], rows: int) -> Floats:
    found: Floats
    match expression:
        case Number():
            found = np.full(rows, float(expression.value))
        case Column():
            found = values[expression.name]
        case Negated():
            found = np.negative(_of(expression.of, values, rows))
        case Operation():
            left, right = _of(expression.left, values, rows), _of(expression.right, values, rows)
            found = _ARITHMETIC[expression.operator](left, right)
        case Call(function="abs"):
            found = np.abs(_of(expression.arguments[0], values, rows))
        case Call():
            found = _extreme(expression, values, rows)
        case Case():
            found = _chosen(expression, values, rows)
    return found


def _extreme(call: Call, values: Mapping[str, Any], rows: int) -> Floats:
    found = _of(call.arguments[0], values, rows)
    for argument in call.arguments[1:]:
        other = _of(argument, values, rows)
        taken = other < found if call.function == "min" else other > found
        found = np.where(taken | np.isnan(other), other, found)
        # NaN stays: no comparison takes another value in its place.
    return found + 0.0


def _chosen(case: Case, values: Mapping[str, Any], rows: int) -> Floats:
    found = np.full(rows, np.nan) if case.otherwise is None else _of(case.otherwise, values, rows)
    for conditions, then in reversed(case.branches):
        met = np.ones(rows, dtype=np.bool_)
        for condition in conditions:
            met &= _met(condition, values, rows)
        found = np.where(met, _of(then, values, rows), found)
    return found


def _met(condition: Condition, values: Mapping[str, Any], rows: int) -> Flags:
    if isinstance(condition, Comparison):
        return _met_by_column(condition, values[condition.column])
    left, right = _of(condition.left, values, rows), _of(condition.right, values, rows)
    met: Flags = _RELATIONS[condition.operator](left, right)
    return met & ~np.isnan(left) & ~np.isnan(right)


def _met_by_column(condition: Comparison, values: Any) -> Flags:
    if not condition.texts:
        return np.isin(values, [float(value) for value in condition.values])
    listed, unequal = set(condition.values), condition.operator == "!="
    return np.array([(isinstance(one, str) and one in listed) != unequal for one in values], dtype=np.bool_)
