"""Slot plan: which slots of an index are written and which one is asked, for the statement at hand.

It follows from the pins and, while the index is changed, from the phase of its changeover. A slot that is pinned and no
changeover speaks of is both; two that are pinned without one are refused, since nobody knows which is asked.
"""

from dataclasses import dataclass
from typing import Final

from vault.changeover.phase import Changeover
from vault.definitions.index_slot import SLOTS, Slot, SlotKeys
from vault.errors import DefinitionError

__all__ = ["NOT_ASKED", "SlotPlan", "slot_plan"]

NOT_ASKED: Final = (
    "cannot be asked now, it is being made or removed and not every row has its terms: see noisevault reindex --status"
)


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """asked: the slot that look-ups compare with; None while an index is only being made or removed.

    written: the slots that a write fills; the others are left out of an INSERT and nulled by an UPDATE.
    exact: whether equal terms of the asked slot mean equal (normalised) values, so that the database may compare.
    """

    asked: Slot | None
    written: tuple[Slot, ...]
    exact: bool = True


def slot_plan(label: str, pins: SlotKeys, changeover: Changeover | None) -> SlotPlan:
    """label: the index, for the error. Raises: DefinitionError for pins that no plan follows from."""
    pinned = tuple(slot for slot, pin in pins if pin is not None)
    if changeover is None:
        if len(pinned) > 1:
            raise DefinitionError(f"{label}: two slots are pinned to keys and no changeover says which one is asked")
        return SlotPlan(pinned[0] if pinned else None, pinned)
    written = tuple(slot for slot in SLOTS if slot in changeover.written)
    asked = next((slot for slot in SLOTS if slot == changeover.asked), None)
    for slot in {*written, *([] if asked is None else [asked])}:
        if slot not in pinned:
            raise DefinitionError(f"{label}: slot {slot} is in use and pinned to no key: restore the key store")
    return SlotPlan(asked, written)
