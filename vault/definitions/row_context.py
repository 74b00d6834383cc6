"""Row context: the row's own bytes that a sealed value is bound to, so that it opens in no other row.

For each bound column in order, lp(codec id) lp(encoding). Bound columns never change and are known before the INSERT.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import Final
from uuid import UUID

from kms.framing import lp
from vault.codecs import codec_named
from vault.errors import DefinitionError, InvalidValueError, RowBindingError

__all__ = ["BINDABLE_CODEC_IDS", "BoundColumn", "framed_context", "row_context"]

Row = Mapping[str, object] | None
# Ours: longer texts go the way of several columns.
SHORT_TEXT: Final = 128

BINDABLE_CODEC_IDS: Final = ("int64/1", "uuid/1", "bytes/1", "str/1")


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """One column, in plain, whose value the sealed value is bound to."""

    name: str
    codec_id: str

    def __post_init__(self) -> None:
        if self.codec_id not in BINDABLE_CODEC_IDS:
            raise DefinitionError(
                f"a row cannot be bound by {self.name!r} as {self.codec_id}: bind {', '.join(BINDABLE_CODEC_IDS)}"
            )


def row_context(bound: tuple[BoundColumn, ...]) -> Callable[[Row], bytes]:
    """A function from a row (values by column name; others are ignored) to its context.

    It raises RowBindingError, without a place, for a missing or NULL column, or a value of another type.
    """
    parts = tuple((column.name, lp(column.codec_id.encode()), codec_named(column.codec_id).encode) for column in bound)

    def context(row: Row) -> bytes:
        made = b""
        try:
            for name, label, encode in parts:
                data = encode(row[name])  # type: ignore[index]  # no row is one of the refusals below
                made += label + len(data).to_bytes(4, "big") + data
        except (KeyError, TypeError, InvalidValueError):
            pass  # told apart outside, so that nothing is chained
        else:
            return made
        raise RowBindingError(_refusal(bound, row))

    return context


def framed_context(bound: tuple[BoundColumn, ...]) -> Callable[[Row], bytes]:
    """As row_context, with its length before it, lp(row context), which is how associated data has it."""
    context = row_context(bound)

    def framed(row: Row) -> bytes:
        return lp(context(row))

    quick = _QUICK.get(bound[0].codec_id) if len(bound) == 1 else None
    return framed if quick is None else quick(bound[0].name, framed)


# The usual way to bind, by one column: what the codec takes as it is comes first, all else goes the way of the others.


def _by_int64(name: str, otherwise: Callable[[Row], bytes]) -> Callable[[Row], bytes]:
    before, pack = _before("int64/1", 8), Struct("<q").pack

    def framed(row: Row) -> bytes:
        try:
            value = row[name]  # type: ignore[index]
            if type(value) is int:
                return before + pack(value)
        except (KeyError, TypeError, struct_error):
            pass  # told otherwise, so that nothing is chained
        return otherwise(row)

    return framed


def _by_uuid(name: str, otherwise: Callable[[Row], bytes]) -> Callable[[Row], bytes]:
    before = _before("uuid/1", 16)

    def framed(row: Row) -> bytes:
        try:
            value = row[name]  # type: ignore[index]
            if type(value) is UUID:
                return before + value.int.to_bytes(16, "big")
        except (KeyError, TypeError):
            pass
        return otherwise(row)

    return framed


def _by_str(name: str, otherwise: Callable[[Row], bytes]) -> Callable[[Row], bytes]:
    # What stands before a text of each length up to these.
    before = [_before("str/1", width) for width in range(SHORT_TEXT)]

    def framed(row: Row) -> bytes:
        try:
            value = row[name]  # type: ignore[index]
            if type(value) is str:
                data = value.encode()
                return before[len(data)] + data
        except (IndexError, KeyError, TypeError, UnicodeEncodeError):
            pass
        return otherwise(row)

    return framed


def _before(codec_id: str, width: int) -> bytes:
    """What stands before an encoding of so many bytes, in lp(lp(codec id) lp(encoding))."""
    whole = lp(lp(codec_id.encode()) + lp(bytes(width)))
    return whole[: len(whole) - width]


_QUICK: Final = {"int64/1": _by_int64, "uuid/1": _by_uuid, "str/1": _by_str}


def _refusal(bound: tuple[BoundColumn, ...], row: Mapping[str, object] | None) -> str:
    """What is wrong with a row that has no context."""
    is_bound = f"is bound to its row by {', '.join(column.name for column in bound)}"
    if row is None:
        return f"{is_bound}: pass row= with their values"
    for column in bound:
        if column.name not in row:
            return f"{is_bound}, and {column.name} is missing: pass row= with its value"
        value = row[column.name]
        if value is None:
            return f"{is_bound}, and {column.name} is NULL: give it its value first"
        try:
            codec_named(column.codec_id).encode(value)
        except InvalidValueError as error:
            return f"{is_bound}, and {column.name} is not its kind of value: {error.reason}"
    return f"{is_bound}: pass row= as a mapping"
