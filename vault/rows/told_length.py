"""Told length: what is told of rows is made as long as if all that were read counted: its length says nothing of them.

Sealed bytes show how many they are. Without this, whoever sees them pass would learn how many rows a question is about.

    | length, 8, little-endian | what is told | zero bytes |
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vault.errors import JobError
from vault.rows.scan import Batch, Scan

__all__ = ["Counted", "as_of_all_rows", "of_any_length"]

LENGTH: Final = struct.Struct("<Q")
# Of dp.Partial: the head; a row of a unit that is a 32-byte hash, with group, tie and value.
HEAD_BYTES: Final = 15
MOST_ROW_BYTES: Final = 32 + 4 + 8 + 8


@dataclass(slots=True)
class Counted:
    """A scan that counts the rows that it has read, those that do not open included."""

    scan: Scan
    rows: int = 0

    def batches(self) -> Iterator[Batch]:
        for batch in self.scan.batches():
            self.rows += len(batch) + batch.unreadable
            yield batch


def as_of_all_rows(told: bytes, rows: int) -> bytes:
    """rows: that were read. Raises: ValueError for what is longer than so many rows can be."""
    room = HEAD_BYTES + rows * MOST_ROW_BYTES
    if len(told) > room:
        raise ValueError("more is told than was read")
    return LENGTH.pack(len(told)) + told.ljust(room, b"\0")


def of_any_length(padded: bytes) -> bytes:
    """What was told. Raises: JobError."""
    if len(padded) >= LENGTH.size:
        (length,) = LENGTH.unpack_from(padded)
        if length <= len(padded) - LENGTH.size:
            return padded[LENGTH.size : LENGTH.size + length]
    raise JobError("what a worker returned is not what workers of this version return")
