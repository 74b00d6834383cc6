"""Row context: the row's own bytes that a sealed value is bound to, so that it opens in no other row.

For each bound column in order, lp(codec id) lp(encoding). Bound columns never change and are known before the INSERT.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kms.framing import lp
from vault.codecs import codec_named
from vault.errors import DefinitionError, InvalidValueError, RowBindingError

__all__ = ["BINDABLE_CODEC_IDS", "BoundColumn", "row_context"]

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


def row_context(bound: tuple[BoundColumn, ...]) -> Callable[[Mapping[str, object] | None], bytes]:
    """A function from a row (values by column name; others are ignored) to its context.

    It raises RowBindingError, without a place, for a missing or NULL column, or a value of another type.
    """
    parts = tuple((column.name, lp(column.codec_id.encode()), codec_named(column.codec_id).encode) for column in bound)
    names = ", ".join(column.name for column in bound)

    def context(row: Mapping[str, object] | None) -> bytes:
        if row is None:
            raise RowBindingError(f"is bound to its row by {names}: pass row= with their values")
        made = b""
        for name, label, encode in parts:
            value = row.get(name)
            if value is None:
                state = "is NULL" if name in row else "is missing"
                raise RowBindingError(f"is bound to its row by {names}, and {name} {state}: pass row= with its value")
            made += label + lp(_bound(name, encode, value))
        return made

    return context


def _bound(name: str, encode: Callable[[object], bytes], value: object) -> bytes:
    try:
        return encode(value)
    except InvalidValueError as error:
        reason = error.reason
    raise RowBindingError(f"cannot be bound by {name}: {reason}")
