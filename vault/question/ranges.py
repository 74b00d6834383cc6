"""Ranges: the conditions on one column as the one spelling of what they allow together, by the column's type.

Whole numbers have closed ranges (`a > 2` is `a >= 3`), and a list of them that is a range, or nearly one, is told as a
range (`a in (1, 2, 3)` is `a >= 1 and a <= 3`). Numbers that are compared with floats are the nearest floats, of
several limits the narrower stays, and a condition that another makes needless goes. NULL meets no condition at all, so
that a condition never goes when it is the last one on its column.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Final

from vault.exact_number import normal
from vault.expression import Comparison, Operator, Value
from vault.policy import ColumnType

INT64: Final = (-(2**63), 2**63 - 1)


class NothingMeetsError(Exception):
    """No value can meet all conditions on `column`."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


def in_ranges(where: Iterable[Comparison], kinds: Mapping[str, ColumnType]) -> tuple[Comparison, ...]:
    """The same conditions, each column's in its one spelling. Of an int column all numbers are whole and of 64 bits.

    Raises: NothingMeetsError when no row can meet them.
    """
    found: list[Comparison] = []
    for column, conditions in groupby(sorted(where, key=lambda one: one.column), key=lambda one: one.column):
        found += _of_one_column(column, list(conditions), kinds[column])
    return tuple(sorted(found, key=lambda one: one.place))


@dataclass(frozen=True, slots=True)
class _Limit:
    """One end of a range; strict: the value itself is outside."""

    value: Decimal
    strict: bool = False


def _of_one_column(column: str, conditions: Sequence[Comparison], kind: ColumnType) -> list[Comparison]:
    if kind != "str":
        conditions = [_as_stored(one, kind) for one in conditions]
    forbidden = {value for one in conditions if one.operator == "!=" for value in one.values}
    low, high = _limits(conditions)
    lists = [set(one.values) for one in conditions if one.operator in ("=", "in")]
    if lists:
        allowed = {value for value in set.intersection(*lists) - forbidden if _inside(value, low, high)}
        if not allowed:
            raise NothingMeetsError(column)
        if kind == "int":
            return _of_whole_numbers(column, allowed)
        return [Comparison(column, "in", tuple(allowed))]
    low, high = _moved(low, forbidden, kind, 1), _moved(high, forbidden, kind, -1)
    if low is not None and high is not None:
        if low.value > high.value or (low.value == high.value and (low.strict or high.strict)):
            raise NothingMeetsError(column)
        if low.value == high.value:
            return [Comparison(column, "=", (low.value,))]
    if any(limit is not None and not _possible(limit, kind) for limit in (low, high)):
        raise NothingMeetsError(column)
    left_out = {value for value in forbidden if _inside(value, low, high)}
    if kind == "int":
        first, last = (int(limit.value) if limit else end for limit, end in zip((low, high), INT64, strict=True))
        return _of_all_but(column, first, last, {int(value) for value in left_out})
    return [*_range(column, low, high), *(Comparison(column, "!=", (value,)) for value in left_out)]


def _of_whole_numbers(column: str, allowed: Collection[Value]) -> list[Comparison]:
    whole = {int(value) for value in allowed}
    low, high = min(whole), max(whole)
    if _is_range(high - low + 1 - len(whole), len(whole)):
        return _of_all_but(column, low, high, set(range(low, high + 1)) - whole)
    return [Comparison(column, "in", tuple(allowed))]


def _of_all_but(column: str, low: int, high: int, left_out: set[int]) -> list[Comparison]:
    """The whole numbers from low to high without those left out."""
    if not _is_range(len(left_out), high - low + 1 - len(left_out)):
        return [Comparison(column, "in", tuple(Decimal(n) for n in range(low, high + 1) if n not in left_out))]
    least, most = (None if end in INT64 else _Limit(Decimal(end)) for end in (low, high))
    found = [*_range(column, least, most), *(Comparison(column, "!=", (Decimal(n),)) for n in left_out)]
    return found or [Comparison(column, ">=", (Decimal(INT64[0]),))]  # anything but NULL


def _is_range(left_out: int, size: int) -> bool:
    """Whether so many whole numbers are told shorter by their ends and what is left out than one by one."""
    return left_out + 2 < size


def _as_stored(one: Comparison, kind: ColumnType) -> Comparison:
    """Of floats the nearest ones; of whole numbers closed ranges."""
    if kind == "float":
        values = tuple(normal(Decimal(repr(float(value)))) for value in one.values)
        return Comparison(one.column, one.operator, values)
    if one.operator in ("<", ">"):
        closed: Operator = "<=" if one.operator == "<" else ">="
        return Comparison(one.column, closed, (Decimal(int(one.value) + (1 if one.operator == ">" else -1)),))
    return one


def _limits(conditions: Iterable[Comparison]) -> tuple[_Limit | None, _Limit | None]:
    low: _Limit | None = None
    high: _Limit | None = None
    for one in conditions:
        if isinstance(one.value, str) or one.operator not in ("<", "<=", ">", ">="):
            continue
        limit = _Limit(one.value, one.operator in ("<", ">"))
        if one.operator in (">", ">="):
            low = limit if low is None else max(low, limit, key=lambda each: (each.value, each.strict))
        else:
            high = limit if high is None else min(high, limit, key=lambda each: (each.value, not each.strict))
    return low, high


def _moved(limit: _Limit | None, forbidden: set[Value], kind: ColumnType, inwards: int) -> _Limit | None:
    """The limit, past the values at it that are forbidden."""
    while limit is not None and not limit.strict and limit.value in forbidden:
        limit = _Limit(limit.value + inwards, strict=False) if kind == "int" else _Limit(limit.value, strict=True)
    return limit


def _possible(limit: _Limit, kind: ColumnType) -> bool:
    return kind != "int" or INT64[0] <= limit.value <= INT64[1]


def _inside(value: Value, low: _Limit | None, high: _Limit | None) -> bool:
    if isinstance(value, str):
        return True
    if low is not None and (value < low.value or (low.strict and value == low.value)):
        return False
    return high is None or value < high.value or (not high.strict and value == high.value)


def _range(column: str, low: _Limit | None, high: _Limit | None) -> Iterator[Comparison]:
    if high is not None:
        yield Comparison(column, "<" if high.strict else "<=", (high.value,))
    if low is not None:
        yield Comparison(column, ">" if low.strict else ">=", (low.value,))
