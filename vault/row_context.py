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

    def context(row: Mapping[str, object] | None) -> bytes:
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
