"""Indexing: the terms of one field's values, made as its indexes' pins and phases say for the time being."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from kms.key_record import Purpose
from kms.keyring import Keyring
from kms.lease import Clock
from vault.changeover.in_force import Held
from vault.changeover.phase import Changeover, Phase, Subject
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_definition import SharedDefinition
from vault.definitions.index_slot import Slot, SlotKeys, SlotPin, term_column
from vault.errors import DefinitionError
from vault.index.field_plan import FieldPlan, Until
from vault.index.home import IndexHome
from vault.index.slot_plan import SlotPlan, slot_plan
from vault.index.slot_terms import SlotTerms
from vault.terms.term import BlindIndex

__all__ = ["Indexing", "first_slots", "subject_of"]

NO_HOMES: Final[Mapping[str, IndexHome]] = {}
_FOR_EVER: Final = float("inf")
# Two slots that are given without a phase: both are written and the first is asked.
_BOTH: Final = Changeover(Subject("", "", ""), "a", "b", Phase.DUAL_ASK_OLD, Phase.OLD, datetime.fromtimestamp(0, UTC))
_Found = tuple[SlotKeys, Changeover | None]


@dataclass(frozen=True, slots=True)
class _Static:
    """Where nothing is learnt later."""

    until: float = _FOR_EVER


@dataclass(frozen=True, slots=True)
class _Several:
    """Where the indexes of one field live in several keyrings."""

    held: Sequence[Held]

    @property
    def until(self) -> float:
        return min(held.until for held in self.held)


def subject_of(definition: FieldDefinition, index: BlindIndex) -> Subject:
    """Under which names the pins and phases of a field's index are recorded."""
    if index.scope is not None:
        return Subject("", "", index.scope)
    return Subject(definition.table, definition.column, index.name)


class Indexing:
    """All the term columns of one field. Shared by threads."""

    __slots__ = ("_clock", "_definition", "_homes", "_made", "_own", "_plan", "columns")

    def __init__(
        self,
        definition: FieldDefinition,
        own: IndexHome,
        homes: Mapping[str, IndexHome] = NO_HOMES,
    ) -> None:
        """own: the field's keyring, with what is recorded there. homes: by name, the others that indexes live in.

        Raises: DefinitionError for an index without pins, or a pin that names a generation without the index; KmsError.
        """
        self._definition = definition
        self._own = replace(own, generations={**own.generations, definition.generation: definition})
        self._homes = homes
        self._clock: Clock = own.keyring.clock
        self._made: dict[tuple[str, SlotPin], SlotTerms] = {}
        self._plan = self._planned()
        self.columns = self._plan.columns

    def plan(self) -> FieldPlan:
        """What the slots do now, to be taken once for a statement. Raises: LeaseExpiredError, KmsError."""
        plan = self._plan
        if self._clock() < plan.leased.until:
            return plan
        plan = self._plan = self._planned()
        return plan

    def terms(self, value: object) -> dict[str, bytes | None]:
        """As FieldPlan.terms."""
        return self.plan().terms(value)

    def terms_many(self, values: list[object]) -> list[dict[str, bytes | None]]:
        """As terms, for each value in order."""
        by_column = self.terms_by_column(values)
        if not by_column:
            return [{} for _ in values]
        return [dict(zip(by_column, row, strict=True)) for row in zip(*by_column.values(), strict=True)]

    def terms_by_column(self, values: list[object]) -> dict[str, list[bytes | None]]:
        """As FieldPlan.terms_by_column."""
        return self.plan().terms_by_column(values)

    def _planned(self) -> FieldPlan:
        held: dict[int, Held] = {}
        plans: dict[str, SlotPlan] = {}
        slots: dict[str, SlotTerms | None] = {}
        for index in self._definition.indexes:
            home = self._home(index)
            pins, changeover = self._in_force(home, index, held)
            plan = slot_plan(f"{self._definition.label} index {index.name}", pins, changeover)
            for slot, pin in pins:
                slots[term_column(self._definition.column, index.name, slot)] = (
                    None if pin is None else self._slot_terms(home, index, slot, pin)
                )
            asked = slots[term_column(self._definition.column, index.name, plan.asked)] if plan.asked else None
            plans[index.name] = replace(plan, exact=asked is None or asked.index.answers_equality)
        return FieldPlan(self._definition.column, plans, slots, _leased(list(held.values())))

    def _home(self, index: BlindIndex) -> IndexHome:
        home = self._own if index.keyring is None else self._homes.get(index.keyring)
        if home is None:
            raise self._unpinned(index)
        return home

    def _in_force(self, home: IndexHome, index: BlindIndex, held: dict[int, Held]) -> _Found:
        """The pins of an index, and its changeover if one is under way; held: what they were read with is put there."""
        news, subject = home.news, subject_of(self._definition, index)
        if news is None:
            if index.name not in home.slots:
                raise self._unpinned(index)
            pins = home.slots[index.name]
            return pins, None if pins.b is None or pins.a is None else _BOTH
        read = held[id(news)] = news.held()
        if subject not in read.state.pins:  # recorded since, or removed
            news.reload()
            read = held[id(news)] = news.held()
        if subject in read.state.pins:
            return read.state.pins[subject], read.state.changeovers.get(subject)
        if news.has_ended(subject):
            return SlotKeys(None), None  # it was removed, or given up before it was made
        raise self._unpinned(index)

    def _slot_terms(self, home: IndexHome, index: BlindIndex, slot: Slot, pin: SlotPin) -> SlotTerms:
        key = (term_column(self._definition.column, index.name, slot), pin)
        if key not in self._made:
            if index.scope is not None:
                made = SlotTerms(self._definition, self._as_shared(home, index, pin), pin, home.keyring)
            else:
                made = SlotTerms(*self._as_recorded(home, index, pin), pin, home.keyring)
            self._made[key] = made
        return self._made[key]

    def _as_recorded(self, home: IndexHome, index: BlindIndex, pin: SlotPin) -> tuple[FieldDefinition, BlindIndex]:
        definition = home.generations.get(pin.generation)
        if definition is None and home.news is not None:
            definition = home.news.fields(self._definition.table, self._definition.column).get(pin.generation)
        found = None if definition is None else next((i for i in definition.indexes if i.name == index.name), None)
        if definition is None or found is None:
            raise DefinitionError(
                f"{self._definition.label}: no known definition of generation {pin.generation} has the index"
                f" {index.name!r}"
            )
        return definition, found

    def _as_shared(self, home: IndexHome, index: BlindIndex, pin: SlotPin) -> BlindIndex:
        """The pin is the scope's, whose definition every column that shares it declares, now or later."""
        if home.news is None:
            return index
        recorded = home.news.indexes(("", str(index.scope))).get(pin.generation)
        if not isinstance(recorded, SharedDefinition):
            raise DefinitionError(f"shared index {index.scope}: generation {pin.generation} is not recorded")
        return replace(index, normaliser=recorded.normaliser, bits=recorded.bits, slow=recorded.argon2id)

    def _unpinned(self, index: BlindIndex) -> DefinitionError:
        return DefinitionError(f"{self._definition.label}: no slot of the index {index.name!r} is pinned to a key")


def _leased(held: list[Held]) -> Until:
    if not held:
        return _Static()
    return held[0] if len(held) == 1 else _Several(held)


def first_slots(definition: FieldDefinition, keyring: Keyring) -> dict[str, SlotKeys]:
    """The pins of a field that is not registered: slot a of each index, to the keyring's first index key."""
    if not definition.indexes:
        return {}
    first = keyring.first(Purpose.INDEX).key_id
    return {
        index.name: SlotKeys(SlotPin(first, definition.generation if index.scope is None else 0))
        for index in definition.indexes
    }
