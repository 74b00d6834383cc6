"""Index slot: one of the two term columns of an index, pinned to the index key that makes its terms.

An index has slots a and b, so that its key can change while one of them answers. A slot keeps its key when
the keyring's index key rotates: all its terms must be made alike to be found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["SLOTS", "Slot", "SlotKeys", "SlotPin", "term_column"]

Slot = Literal["a", "b"]
SLOTS: Final[tuple[Slot, Slot]] = ("a", "b")


@dataclass(frozen=True, slots=True)
class SlotPin:
    """What makes the terms of one slot: the index key, and the generation of the definition that says how."""

    key_id: bytes
    generation: int


@dataclass(frozen=True, slots=True)
class SlotKeys:
    """The pins of an index; None for a slot that is not written."""

    a: SlotPin | None
    b: SlotPin | None = None

    def __iter__(self) -> Iterator[tuple[Slot, SlotPin | None]]:
        """Each slot with its pin."""
        return iter((("a", self.a), ("b", self.b)))


def term_column(column: str, index: str, slot: Slot) -> str:
    """The name of the column that holds the terms of one slot."""
    return f"{column}_{index}_{slot}"
