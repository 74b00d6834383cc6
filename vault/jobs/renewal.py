"""Renewal: what the stored values of one column become under the active key and generation, in memory."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kms import Purpose
from vault.errors import FieldError
from vault.field import Field
from vault.sealed.envelope import HEADER_BYTES, OVERHEAD_BYTES, header, looks_sealed

__all__ = ["current_header", "due_values", "is_stale", "opens", "renew_values"]

Row = Mapping[str, Any]
HEAD: Final = slice(0, HEADER_BYTES)
BODY: Final = bytes(OVERHEAD_BYTES - HEADER_BYTES)


def current_header(field: Field) -> bytes:
    """How what the field seals now begins: its generation and the active key. Raises: KmsError."""
    return header(field.definition.generation, field.keyring.sealing(Purpose.DATA).key.key_id)


def is_stale(current: bytes, stored: Any) -> bool:
    """Whether a stored value is under another key than the active one, or of an older generation; NULL never is."""
    if stored is None:
        return False
    if not looks_sealed(stored):
        return True
    return bool(stored[2:HEADER_BYTES] != current[2:] or stored[1] < current[1])


def due_values(current: bytes, stored: Sequence[Any]) -> list[int]:
    """The places of the stale values. Of a page of sealed values few headers differ, and each is looked at once."""
    if set(map(type, stored)) == {bytes} and min(map(len, stored)) >= OVERHEAD_BYTES:
        heads = {value[HEAD] for value in stored}
        stale = {head for head in heads if is_stale(current, head + BODY)}
        if len(stale) in {0, len(heads)}:
            return [*range(len(stored))] if stale else []
        return [at for at, value in enumerate(stored) if value[HEAD] in stale]
    return [at for at, value in enumerate(stored) if is_stale(current, value)]


def opens(field: Field, stored: Sequence[Any], rows: Sequence[Row]) -> list[str | None]:
    """For each value, None if it opens, else the reason why not."""
    opened = field.open_many(stored, rows or None, on_error="mark")
    return [value.reason if isinstance(value, FieldError) else None for value in opened]


def renew_values(field: Field, stored: Sequence[Any], rows: Sequence[Row]) -> list[bytes | str]:
    """Each value sealed anew, or the reason why it was not: it does not open, or the definition cannot hold it.

    rows: of a field that is bound to its row, by some generation; empty otherwise. Raises: KmsError.
    """
    values = field.open_many(stored, rows or None, on_error="mark")
    if not any(issubclass(kind, FieldError) for kind in set(map(type, values))):
        return _seal(field, values, rows)
    opened = [at for at, value in enumerate(values) if not isinstance(value, FieldError)]
    kept_rows = [rows[at] for at in opened] if rows else []
    renewed: list[bytes | str] = [value.reason if isinstance(value, FieldError) else "" for value in values]
    for at, new in zip(opened, _seal(field, [values[at] for at in opened], kept_rows), strict=True):
        renewed[at] = new
    return renewed


def _seal(field: Field, values: Sequence[Any], rows: Sequence[Row]) -> list[bytes | str]:
    try:
        return [new or b"" for new in field.seal_many(values, rows or None)]
    except FieldError:
        pass  # one by one, to tell which
    return [_seal_one(field, value, rows[at] if rows else None) for at, value in enumerate(values)]


def _seal_one(field: Field, value: Any, row: Row | None) -> bytes | str:
    try:
        return field.seal(value, row) or b""
    except FieldError as error:
        return error.reason
