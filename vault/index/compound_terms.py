"""Compound terms: the terms of an index over several columns, for the values of one row at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn, SupportsIndex

from kms.keyring import Keyring
from vault.changeover.phase import Subject
from vault.definitions.index_definition import CompoundDefinition
from vault.definitions.index_slot import SLOTS, Slot, SlotKeys, SlotPin
from vault.errors import DefinitionError
from vault.index.compound_slot import CompoundSlot
from vault.index.field_plan import Until
from vault.index.news import IndexNews
from vault.index.slot_plan import NOT_ASKED, SlotPlan, slot_plan

__all__ = ["CompoundPlan", "CompoundTerms"]


@dataclass(frozen=True, slots=True)
class _Static:
    """Where nothing is learnt later."""

    until: float = float("inf")


_STATIC: Final = _Static()


@dataclass(frozen=True, slots=True)
class CompoundPlan:
    """What the slots do, as one statement sees it from its begin to its end. slots: by name; None where unpinned."""

    label: str
    does: SlotPlan
    slots: Mapping[Slot, CompoundSlot | None]
    leased: Until = field(default=_STATIC, compare=False)

    def terms(self, rows: Sequence[Sequence[object]]) -> dict[Slot, list[bytes | None]]:
        """By slot the term of each row of values, in the order of the parts; None in a slot that is not written.

        Raises: InvalidValueError with the row's place; UnknownKeyError, KmsError.
        """
        made: dict[Slot, list[bytes | None]] = {}
        for slot in SLOTS:
            maker = self.slots[slot] if slot in self.does.written else None
            made[slot] = [None] * len(rows) if maker is None else maker.terms(rows)
        return made

    @property
    def asked(self) -> CompoundSlot:
        """What look-ups go by. Raises: DefinitionError where the index cannot be asked now."""
        maker = None if self.does.asked is None else self.slots[self.does.asked]
        if maker is None:
            raise DefinitionError(f"{self.label} {NOT_ASKED}")
        return maker


class CompoundTerms:
    """Shared by threads; never pickled. The term of a row is None as soon as one part is None."""

    __slots__ = ("_clock", "_keyring", "_made", "_news", "_pins", "_plan", "definition")

    def __init__(
        self, definition: CompoundDefinition, keyring: Keyring, slots: SlotKeys, news: IndexNews | None = None
    ) -> None:
        """news: where pins, phases and generations are learnt of later; without it they stay as given.

        Raises: DefinitionError for pins that it cannot tell the asked slot by; KmsError.
        """
        self.definition = definition
        self._keyring = keyring
        self._pins = slots
        self._news = news
        self._clock = keyring.clock
        self._made: dict[SlotPin, CompoundSlot] = {}
        self._plan = self._planned()

    def plan(self) -> CompoundPlan:
        """What the slots do now, to be taken once for a statement. Raises: LeaseExpiredError, KmsError."""
        plan = self._plan
        if self._clock() < plan.leased.until:
            return plan
        plan = self._plan = self._planned()
        return plan

    def terms_by_slot(
        self, rows: Sequence[Sequence[object]], plan: CompoundPlan | None = None
    ) -> dict[Slot, list[bytes | None]]:
        """As CompoundPlan.terms. plan: that of the statement; else the one of now."""
        return (plan or self.plan()).terms(rows)

    def terms(self, rows: Sequence[Sequence[object]]) -> list[bytes | None]:
        """Those in slot a. Raises: as terms_by_slot."""
        return self.terms_by_slot(rows)["a"]

    def asked_term(self, asked: Sequence[object], plan: CompoundPlan | None = None) -> bytes:
        """The term of what is asked for, in the asked slot. Raises: InvalidValueError, DefinitionError, KmsError."""
        return (plan or self.plan()).asked.asked(asked)

    def matcher(self, asked: Sequence[object], plan: CompoundPlan | None = None) -> Callable[[Sequence[object]], bool]:
        """A function that tells whether opened values are what is asked for."""
        return (plan or self.plan()).asked.matcher(asked)

    def by_name(self, values: Mapping[str, object]) -> list[object]:
        """Values by column name, in the order of the parts. Raises: DefinitionError unless it has just those."""
        names = [part.column for part in self.definition.parts]
        if sorted(values) != sorted(names):
            raise DefinitionError(f"{self.definition.label} is asked for a value of each of {', '.join(names)}")
        return [values[name] for name in names]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("an index is never pickled or copied: open the keyring in the other process and make it there")

    def __repr__(self) -> str:
        return f"<{self.definition.label}>"

    def _planned(self) -> CompoundPlan:
        pins, changeover, leased = self._pins, None, None
        if self._news is not None:
            subject = Subject(self.definition.table, "", self.definition.name)
            leased = self._news.held()
            if subject not in leased.state.pins:  # recorded since
                self._news.reload()
                leased = self._news.held()
            pins = leased.state.pins.get(subject, SlotKeys(None))
            changeover = leased.state.changeovers.get(subject)
        does = slot_plan(self.definition.label, pins, changeover)
        slots = {slot: None if pin is None else self._slot(pin) for slot, pin in pins}
        if not any(slots.values()):
            raise DefinitionError(f"{self.definition.label}: no slot is pinned to a key")
        asked = None if does.asked is None else slots[does.asked]
        does = replace(does, exact=asked is None or asked.definition.answers_equality)
        return CompoundPlan(self.definition.label, does, slots, leased or _STATIC)

    def _slot(self, pin: SlotPin) -> CompoundSlot:
        if pin not in self._made:
            definition: object = self.definition
            if self._news is not None and pin.generation != self.definition.generation:
                definition = self._news.indexes(self.definition.place).get(pin.generation)
            if not isinstance(definition, CompoundDefinition):
                raise DefinitionError(f"{self.definition.label}: generation {pin.generation} is not recorded")
            self._made[pin] = CompoundSlot(definition, self._keyring, pin)
        return self._made[pin]
