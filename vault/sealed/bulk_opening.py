"""Bulk opening: many sealed values of one field, decoded by the column; what does not open at once is opened alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidTag

from vault.codec import Codec
from vault.errors import FieldError
from vault.sealed.opening import BODY, HEAD, IV, Opener, Opening, stored_bytes

__all__ = ["open_many"]

# Ours: how many values go by one look at the keyring.
CHUNK_VALUES: Final = 4096

Row = Mapping[str, object]


@dataclass(slots=True)
class _Column:
    """Plaintexts of one codec, and the places in the batch that they came from."""

    codec: Codec
    numbers: list[int] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)

    def values(self) -> list[Any] | None:
        """The values, or None if one of the plaintexts is not the codec's."""
        try:
            return self.codec.decode_many(self.parts)
        except ValueError:
            return None


def open_many(opening: Opening, sealed: Sequence[object], rows: Sequence[Row] | None) -> list[Any]:
    """The values in order: None for NULL, and the FieldError, with its row number, where one did not open.

    Raises: KmsError when the keyring cannot tell; no value is to blame for that.
    """
    columns: dict[str, _Column] = {}
    left: list[int] = []
    for start in range(0, len(sealed), CHUNK_VALUES):
        left += _decrypt_chunk(opening, sealed, rows, start, columns)
    if len(columns) == 1 and not left:
        (column,) = columns.values()
        if len(column.numbers) == len(sealed):  # all of them, and in order
            values = column.values()
            if values is not None:
                return values
    opened: list[Any] = [None] * len(sealed)
    for column in columns.values():
        values = column.values()
        if values is None:
            left += column.numbers
            continue
        for number, value in zip(column.numbers, values, strict=True):
            opened[number] = value
    for number in left:
        opened[number] = _alone(opening, sealed[number], None if rows is None else rows[number], number)
    return opened


def _decrypt_chunk(
    opening: Opening, sealed: Sequence[object], rows: Sequence[Row] | None, start: int, columns: dict[str, _Column]
) -> list[int]:
    """Put what authenticates into the column of its codec; give the places of the rest."""
    if _decrypt_alike(opening, sealed, rows, start, columns):
        return []
    openers: dict[bytes, tuple[Opener, _Column]] = {}
    left: list[int] = []
    for number, stored in enumerate(sealed[start : start + CHUNK_VALUES], start):
        if stored is None:
            continue
        try:
            value = stored if type(stored) is bytes else stored_bytes(stored)
            head = value[HEAD]
            found = openers.get(head) or _opener(opening, value, columns)
            if found is not None:
                openers[head] = found
                opener, column = found
                aad = opener.unbound
                if opener.context is not None:
                    aad = opener.associated_data(None if rows is None else rows[number])
                column.parts.append(opener.decrypt(value[IV], value[BODY], aad))
                column.numbers.append(number)
                continue
        except (FieldError, InvalidTag, ValueError):
            pass
        left.append(number)
    return left


def _decrypt_alike(
    opening: Opening, sealed: Sequence[object], rows: Sequence[Row] | None, start: int, columns: dict[str, _Column]
) -> bool:
    """The usual chunk, all of one header, without a decision for each value. False, and nothing done, if it is another.

    Raises: KmsError.
    """
    values: Sequence[Any] = sealed[start : start + CHUNK_VALUES]
    numbers: Sequence[int] = range(start, start + len(values))
    kinds = set(map(type, values))
    if type(None) in kinds:
        numbers = [n for n, one in zip(numbers, values, strict=True) if one is not None]
        values = [one for one in values if one is not None]
    if kinds - {type(None)} != {bytes} or len({value[HEAD] for value in values}) != 1:
        return False
    found = _opener(opening, values[0], columns)
    if found is None:
        return False
    opener, column = found
    decrypt, aad, bind = opener.decrypt, opener.unbound, opener.associated_data
    try:
        if opener.context is None:
            parts = [decrypt(value[IV], value[BODY], aad) for value in values]
        elif rows is None:
            return False
        else:
            parts = [decrypt(v[IV], v[BODY], bind(rows[n])) for v, n in zip(values, numbers, strict=True)]
    except (FieldError, InvalidTag, ValueError):
        return False
    column.parts += parts
    column.numbers += numbers
    return True


def _opener(opening: Opening, value: bytes, columns: dict[str, _Column]) -> tuple[Opener, _Column] | None:
    try:
        opener = opening.opener(value)
    except FieldError:
        return None
    return opener, columns.setdefault(opener.codec.id, _Column(opener.codec))


def _alone(opening: Opening, stored: object, row: Row | None, number: int) -> Any:
    try:
        return opening.open_with_care(stored, row)
    except FieldError as error:
        error.row = number
        return error
