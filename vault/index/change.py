"""Index change: what is declared of an index otherwise than a slot makes its terms, and the begin of moving it.

The begin records the new definition, pins the other slot and starts the changeover, in one transaction. An index is

changed  its normaliser, width or slow hash is another, or the index key has been rotated: a -> b, or b -> a
added    nothing -> a; its terms are written first, and asked when every row has one
removed  a -> nothing; it is asked no more at once, and its definition is recorded when nobody asks it
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import insert

from kms.key_record import Purpose
from kms.keyring import Keyring
from kms.locked_keyring import LockedKeyring, locked
from vault.changeover.phase import NOWHERE, Changeover, Phase, Subject
from vault.changeover.store import ChangeoverStore
from vault.codecs.padding import unpadded_id
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import field_table, index_slot_table, index_table
from vault.definitions.drift import refuse_drift, reindex_command
from vault.definitions.index_definition import CompoundDefinition, IndexDefinition, shared_definitions
from vault.definitions.index_slot import Slot, SlotKeys, SlotPin
from vault.definitions.index_store import same_index
from vault.definitions.recorded_definitions import (
    field_row,
    field_slots,
    index_row,
    index_slots,
    recorded_fields,
    recorded_indexes,
)
from vault.definitions.recorded_definitions import slot_row as pin_row
from vault.errors import ChangeoverError, DefinitionChangedError
from vault.terms.term import BlindIndex

__all__ = ["IndexChange", "begin_compound_change", "begin_field_changes", "record_removal", "resting_slot"]

NEW_KEY: Final = "index key {} -> {}"


@dataclass(frozen=True, slots=True)
class IndexChange:
    """new_pin: what makes the terms of the new slot; None for an index that is removed."""

    subject: Subject
    old: str
    new: str
    new_pin: SlotPin | None
    why: str

    @property
    def first_phase(self) -> Phase:
        """What is removed is asked no more: that phase differs from the first in nothing else."""
        return Phase.DUAL_ASK_NEW if self.new == NOWHERE else Phase.OLD


def resting_slot(pins: SlotKeys) -> Slot | None:
    """The slot of an index that is not being changed. Raises: ChangeoverError where it is."""
    pinned = [slot for slot, pin in pins if pin is not None]
    if len(pinned) > 1:
        raise ChangeoverError("the index has two slots in use: it is being changed already")
    return pinned[0] if pinned else None


def begin_field_changes(
    changeovers: ChangeoverStore,
    keyring: Keyring,
    declared: FieldDefinition,
    *,
    who: str,
    home: str | None = None,
    names: Iterable[str] | None = None,
) -> list[Changeover]:
    """Begin what is due of the field's indexes that live in this keyring; nothing where nothing is.

    home: the name that the definition gives this keyring; None for the field's own. names: of the indexes that are
    moved to the active index key; all of the field unless given. What a definition changes begins together.
    Raises: ChangeoverError while one of them is under way already; DefinitionChangedError for what cannot be moved, and
    for what is declared otherwise than its generation is recorded.
    """
    active = _active_key(keyring)
    with locked(changeovers.key_store.engine, keyring.id, changeovers.key_store.now()) as store:
        known = recorded_fields(store.connection, keyring.id, declared.table, declared.column)
        pins = field_slots(store.connection, keyring.id, declared.table, declared.column)
        if not known:
            return []  # its first start-up records it
        if declared.generation in known:
            refuse_drift(known[declared.generation], declared)  # else a move would begin to what is recorded
        _refuse_older(known, pins, declared, home)
        changes = _of_definition(known, pins, declared, home, active)
        if declared.generation not in known:
            _refuse_step(known[max(known)], declared, changes)
        if not changes:
            changes = _of_key(declared, pins, home, active, names)
        shared = _of_scopes(store, keyring, declared, active, names) if home is None else []
        begun = [
            _begin(changeovers, store, change, who)
            for change in changes + [change for change, _ in shared]
            if _is_new(changeovers, store, change)
        ]
        for definition in [definition for _, definition in shared if definition is not None]:
            store.connection.execute(insert(index_table).values(index_row(definition, keyring.id)))
        removes = any(change.new == NOWHERE for change in changes)
        if declared.generation not in known and not removes:
            store.connection.execute(insert(field_table).values(field_row(declared, keyring.id)))
        return begun


def begin_compound_change(
    changeovers: ChangeoverStore, keyring: Keyring, declared: CompoundDefinition, *, who: str
) -> list[Changeover]:
    """As begin_field_changes, of an index over several columns."""
    active = _active_key(keyring)
    with locked(changeovers.key_store.engine, keyring.id, changeovers.key_store.now()) as store:
        subject = Subject(declared.table, "", declared.name)
        found = _of_index(store, keyring, declared, subject, active)
        if found is None or not _is_new(changeovers, store, found[0]):
            return []
        change, definition = found
        if definition is not None:
            store.connection.execute(insert(index_table).values(index_row(definition, keyring.id)))
        return [_begin(changeovers, store, change, who)]


def record_removal(store: LockedKeyring, keyring_id: bytes, declared: FieldDefinition) -> None:
    """Record the definition without an index, once nobody asks the index any more. Again: nothing."""
    known = recorded_fields(store.connection, keyring_id, declared.table, declared.column)
    if declared.generation not in known:
        store.connection.execute(insert(field_table).values(field_row(declared, keyring_id)))


def _active_key(keyring: Keyring) -> bytes:
    keyring.records(Purpose.INDEX)  # a rotation elsewhere is seen
    return keyring.sealing(Purpose.INDEX).key.key_id


def _own(definition: FieldDefinition, home: str | None) -> dict[str, BlindIndex]:
    """The indexes that the field's own definition decides, of those that live there."""
    return {index.name: index for index in definition.indexes if index.keyring == home and index.scope is None}


def _of_definition(
    known: Mapping[int, FieldDefinition],
    pins: Mapping[str, SlotKeys],
    declared: FieldDefinition,
    home: str | None,
    active: bytes,
) -> list[IndexChange]:
    changes = []
    wanted = _own(declared, home)
    for name, index in wanted.items():
        subject, its = Subject(declared.table, declared.column, name), pins.get(name, SlotKeys(None))
        slots = {slot: pin for slot, pin in its if pin is not None}
        made = {slot: _own(known[pin.generation], home).get(name) for slot, pin in slots.items()}
        pin = SlotPin(active, declared.generation)
        if not slots:
            changes.append(IndexChange(subject, NOWHERE, "a", pin, f"new index: {said(index)}"))
        elif index not in made.values():
            old = resting_slot(its)
            was = made[old] if old is not None else None
            change = f"{said(was) if was else 'nothing'} -> {said(index)}"
            changes.append(IndexChange(subject, str(old), other(str(old)), pin, change))
    for name in pins.keys() - wanted.keys():
        if name in _own(known[max(known)], home) and any(pin is not None for _, pin in pins[name]):
            subject, old = Subject(declared.table, declared.column, name), resting_slot(pins[name])
            changes.append(IndexChange(subject, str(old), NOWHERE, None, "index removed"))
    return changes


def _of_key(
    declared: FieldDefinition,
    pins: Mapping[str, SlotKeys],
    home: str | None,
    active: bytes,
    names: Iterable[str] | None,
) -> list[IndexChange]:
    chosen = set(_own(declared, home)) if names is None else set(names)
    changes = []
    for name in sorted(chosen & pins.keys()):
        slots = [(slot, pin) for slot, pin in pins[name] if pin is not None]
        if len(slots) == 1 and slots[0][1].key_id != active:
            ((slot, pin),) = slots
            why = NEW_KEY.format(pin.key_id.hex(), active.hex())
            subject = Subject(declared.table, declared.column, name)
            changes.append(IndexChange(subject, slot, other(slot), replace(pin, key_id=active), why))
    return changes


def _of_scopes(
    store: LockedKeyring, keyring: Keyring, declared: FieldDefinition, active: bytes, names: Iterable[str] | None
) -> list[tuple[IndexChange, IndexDefinition | None]]:
    chosen = None if names is None else set(names)
    found = [
        _of_index(store, keyring, shared, Subject("", "", shared.scope), active)
        for name, shared in shared_definitions(declared).items()
        if chosen is None or name in chosen
    ]
    return [one for one in found if one is not None]


def _of_index(
    store: LockedKeyring, keyring: Keyring, declared: IndexDefinition, subject: Subject, active: bytes
) -> tuple[IndexChange, IndexDefinition | None] | None:
    """What is due of an index that is not one field's own, and its definition where another has to be recorded."""
    known = recorded_indexes(store.connection, keyring.id, declared.place)
    pins = index_slots(store.connection, keyring.id, declared.place)
    if pins is None or not known:
        return None
    slots = {slot: pin for slot, pin in pins if pin is not None}
    if len(slots) > 1:
        return None  # under way
    ((slot, pin),) = slots.items()
    made = known[pin.generation]
    if not same_index(made, declared):
        following = replace(declared, generation=max(known) + 1)
        new = SlotPin(active, following.generation)
        return IndexChange(subject, slot, other(slot), new, f"{made} -> {declared}"), following
    if pin.key_id != active:
        why = NEW_KEY.format(pin.key_id.hex(), active.hex())
        return IndexChange(subject, slot, other(slot), replace(pin, key_id=active), why), None
    return None


def _refuse_older(
    known: Mapping[int, FieldDefinition], pins: Mapping[str, SlotKeys], declared: FieldDefinition, home: str | None
) -> None:
    """Code of before a change would take it back: an index would be asked no more, or not be unique, that newer code
    relies on. An older generation is the newest in use again only where the change to the next one was aborted.
    """
    pinned = [pin.generation for slots in pins.values() for _, pin in slots if pin is not None]
    was_removed = not _own(declared, home).keys() <= pins.keys()
    newest = max([*pinned, *(known if was_removed else ())], default=declared.generation)
    if declared.generation < newest:
        raise DefinitionChangedError(
            declared.table,
            declared.column,
            f"its indexes are of generation {newest}, and {declared.generation} is declared",
            f"run it from the code that declares generation {newest}; to go back to an older index,"
            f" declare generation={max(known) + 1} with it",
        )


def _refuse_step(newest: FieldDefinition, declared: FieldDefinition, changes: list[IndexChange]) -> None:
    def refuse(what: str, remedy: str) -> None:
        raise DefinitionChangedError(declared.table, declared.column, what, remedy)

    if declared.generation < newest.generation:
        refuse(
            f"generation {newest.generation} is recorded, {declared.generation} declared and not recorded",
            f"declare generation={newest.generation + 1}, and run: {reindex_command(declared)}",
        )
    if newest.indexes and declared.indexes and unpadded_id(newest.codec) != unpadded_id(declared.codec):
        refuse(
            f"codec recorded {newest.codec}, declared {declared.codec}", "declare a new column so and copy the values"
        )
    before = {index.name: (index.keyring, index.scope) for index in newest.indexes}
    for index in declared.indexes:
        if index.name in before and before[index.name] != (index.keyring, index.scope):
            refuse(
                f"its index {index.name} lives in another keyring or scope by now", "give the new index another name"
            )
    if len({change.new == NOWHERE for change in changes}) > 1:
        refuse("one generation removes an index and changes another", "remove the index in a generation of its own")


def _is_new(changeovers: ChangeoverStore, store: LockedKeyring, change: IndexChange) -> bool:
    return changeovers.find_in(store.connection, change.subject) is None


def _begin(changeovers: ChangeoverStore, store: LockedKeyring, change: IndexChange, who: str) -> Changeover:
    if change.new_pin is not None:
        place = (change.subject.table, change.subject.column, change.subject.index)
        row = pin_row(changeovers.keyring_id, place, change.new, change.new_pin)
        store.connection.execute(insert(index_slot_table).values(row))
    return changeovers.begin_in(
        store, change.subject, change.old, change.new, change.first_phase, who=who, why=change.why
    )


def other(slot: str) -> str:
    """The other of the two slots."""
    return "a" if slot == "b" else "b"


def said(index: BlindIndex) -> str:
    """What makes its terms, for the history."""
    slow = "" if index.argon2id is None else f", slow by {index.argon2id}"
    return f"{index.normaliser.id}, {index.bits} bits{slow}"
