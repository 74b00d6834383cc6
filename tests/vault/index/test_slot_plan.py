from datetime import UTC, datetime

import pytest

from vault.changeover.phase import NOWHERE, Changeover, Phase, Subject
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.errors import DefinitionError
from vault.index.slot_plan import SlotPlan, slot_plan

PIN = SlotPin(b"idxa", 0)


def at(phase: Phase, old: str, new: str) -> Changeover:
    return Changeover(Subject("t", "c", "i"), old, new, phase, phase, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("pins", "changeover", "plan"),
    [
        (SlotKeys(PIN), None, SlotPlan("a", ("a",))),
        (SlotKeys(None, PIN), None, SlotPlan("b", ("b",))),
        (SlotKeys(None), None, SlotPlan(None, ())),
        (SlotKeys(PIN, PIN), at(Phase.OLD, "b", "a"), SlotPlan("b", ("b",))),
        (SlotKeys(PIN, PIN), at(Phase.DUAL_ASK_OLD, "a", "b"), SlotPlan("a", ("a", "b"))),
        (SlotKeys(PIN, PIN), at(Phase.DUAL_ASK_NEW, "a", "b"), SlotPlan("b", ("a", "b"))),
        (SlotKeys(PIN, PIN), at(Phase.NEW, "b", "a"), SlotPlan("a", ("a",))),
        (SlotKeys(PIN), at(Phase.DUAL_ASK_OLD, NOWHERE, "a"), SlotPlan(None, ("a",))),
        (SlotKeys(PIN), at(Phase.DUAL_ASK_NEW, "a", NOWHERE), SlotPlan(None, ("a",))),
        (SlotKeys(PIN), at(Phase.NEW, "a", NOWHERE), SlotPlan(None, ())),
    ],
)
def test_a_plan_follows_from_pins_and_phase(pins: SlotKeys, changeover: Changeover | None, plan: SlotPlan) -> None:
    assert slot_plan("t.c index i", pins, changeover) == plan


def test_no_plan_is_guessed() -> None:
    with pytest.raises(DefinitionError, match="no changeover says which one is asked"):
        slot_plan("t.c index i", SlotKeys(PIN, PIN), None)
    with pytest.raises(DefinitionError, match="slot b is in use and pinned to no key"):
        slot_plan("t.c index i", SlotKeys(PIN), at(Phase.DUAL_ASK_OLD, "a", "b"))
