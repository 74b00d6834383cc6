"""Binary array: a column of integers or bytes in the form in which PostgreSQL itself sends and receives an array.

Beside a text in hexadecimal it is half as long, and neither side goes through it character by character.
Source: PostgreSQL source, src/backend/utils/adt/arrayfuncs.c (array_recv), varlena.c (bytearecv), int.c, int8.c.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final

from psycopg import Connection, Cursor
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

__all__ = ["BinaryArray", "binary_array", "send_binary_arrays"]

# The type's number in the catalog, as src/include/catalog/pg_type.dat fixes it, and the width and format of an integer.
BYTEA: Final = 17
INTEGERS: Final = {"smallint": (21, 2, "h"), "integer": (23, 4, "i"), "bigint": (20, 8, "q")}
NULL: Final = struct.pack(">i", -1)


class BinaryArray(bytes):
    """To be cast, in the statement, to an array of the column's type."""

    __slots__ = ()


class _AsItIs(Dumper):
    """Without a type's number: the server takes the type that the statement casts to."""

    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer | None:
        return bytes(obj)


def send_binary_arrays(driver: "Connection[Any]") -> bool:
    """Have this connection send a BinaryArray. False for one with cursors that put values into the statement's text."""
    if driver.cursor_factory is not Cursor:
        return False
    driver.adapters.register_dumper(BinaryArray, _AsItIs)
    return True


def binary_array(values: Sequence[Any], kind: str) -> BinaryArray | None:
    """One-dimensional. kind: the members' type, by its name in the catalog.

    None for other types, and where a value is not of that type: it is for the server to refuse, from its text.
    """
    kinds = set(map(type, values))
    if not values or not kinds <= {bytes, int, type(None)}:
        return None
    has_null = type(None) in kinds
    if kind == "bytea" and int not in kinds:
        return BinaryArray(_head(BYTEA, len(values), has_null) + _bytes(values, has_null))
    if kind in INTEGERS and kinds == {int}:
        number, width, letter = INTEGERS[kind]
        members = [width] * (2 * len(values))
        members[1::2] = values
        try:
            return BinaryArray(_head(number, len(values)) + struct.pack(f">{('i' + letter) * len(values)}", *members))
        except struct.error:
            return None  # out of its range
    return None


def _head(number: int, length: int, has_null: bool = False) -> bytes:
    """Dimensions, whether there is a NULL, the members' type; the length of the dimension and its first index."""
    return struct.pack(">iiIii", 1, has_null, number, length, 1)


def _bytes(values: Sequence[Any], has_null: bool) -> bytes:
    """Each member after its length."""
    sizes = {len(value) for value in values if value is not None} if has_null else set(map(len, values))
    lengths = {size: struct.pack(">i", size) for size in sizes}
    if has_null:
        return b"".join([NULL if value is None else lengths[len(value)] + value for value in values])
    if len(lengths) == 1:
        (length,) = lengths.values()
        return length + length.join(values)
    return b"".join([part for value in values for part in (lengths[len(value)], value)])
