"""Slot move: one slot of one index of a table, as jobs fill it or empty it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sqlalchemy import Column, ColumnElement, LargeBinary, RowMapping, Table, false, func, or_, true

from vault.definitions.index_definition import compound_term_column
from vault.definitions.index_slot import Slot, term_column
from vault.errors import ChangeoverError
from vault.field import Field
from vault.index.compound_slot import CompoundSlot
from vault.index.compound_terms import CompoundTerms
from vault.index.slot_terms import SlotTerms
from vault.jobs.walking.stored_key import job_table
from vault.normalise import Normaliser
from vault.terms.term import term_bytes, term_prefix

__all__ = ["MakesTerms", "SlotMove", "guarded_columns", "slot_length", "terms_of", "with_term_columns"]


# Where a sealed value names its key.
KEY_ID: Final = slice(2, 6)
KEY_ID_BYTES: Final = 4


class MakesTerms(Protocol):
    """The slot as it is pinned now. rows: the opened values of the move's columns, in order."""

    @property
    def prefix(self) -> bytes: ...

    @property
    def partial(self) -> bool:
        """Whether a value may have no term."""
        ...

    def terms(self, rows: Sequence[Sequence[object]]) -> list[bytes | None]: ...


@dataclass(frozen=True, slots=True)
class SlotMove:
    """columns: the sealed columns, by SQL name: one, or the parts of an index over several. slot: a or b.

    keys: the ids of the data keys of the keyring whose rows alone are meant, in a table that several share; else None.
    """

    index: str
    slot: Slot
    columns: tuple[str, ...]
    keys: frozenset[bytes] | None = None

    @property
    def is_compound(self) -> bool:
        return len(self.columns) > 1

    def is_of(self, row: RowMapping) -> bool:
        """Whether the row is one of those that are meant; a row without a value is everybody's."""
        stored = row[self.columns[0]]
        return self.keys is None or stored is None or bytes(stored[KEY_ID]) in self.keys

    def owned(self, table: Table) -> ColumnElement[bool]:
        """The same in SQL, of rows with a value."""
        if self.keys is None:
            return true()
        key_id = func.substr(table.c[self.columns[0]], KEY_ID.start + 1, KEY_ID_BYTES, type_=LargeBinary())
        return or_(false(), *(key_id == one for one in sorted(self.keys)))

    @property
    def term_column(self) -> str:
        if self.is_compound:
            return compound_term_column(self.index, self.slot)
        return term_column(self.columns[0], self.index, self.slot)


def with_term_columns(table: Table, moves: Sequence[SlotMove]) -> Table:
    """The table of a job; a term column that the declared table has no more is added to it."""
    raw = job_table(table)
    for move in moves:
        if move.term_column not in raw.c:
            raw.append_column(Column(move.term_column, LargeBinary()))
    return raw


def terms_of(serving: Field | CompoundTerms, move: SlotMove) -> MakesTerms:
    """What fills the slot now. Raises: ChangeoverError if the slot is not written any more; KmsError."""
    if isinstance(serving, CompoundTerms):
        plan = serving.plan()
        several = plan.slots[move.slot]
        if several is not None and move.slot in plan.does.written:
            return _Several(several)
    else:
        field_plan = serving.plan()
        one = field_plan.slot(move.index, move.slot)
        if one is not None and move.slot in field_plan.indexes[move.index].written:
            return _One(one)
    raise ChangeoverError(f"slot {move.slot} of the index {move.index} is not written by now: somebody changed it")


@dataclass(frozen=True, slots=True)
class _One:
    slot: SlotTerms

    @property
    def prefix(self) -> bytes:
        return term_prefix(self.slot.pin.generation, self.slot.pin.key_id)

    @property
    def partial(self) -> bool:
        return self.slot.index.normaliser.partial

    def terms(self, rows: Sequence[Sequence[object]]) -> list[bytes | None]:
        return self.slot.terms([row[0] for row in rows])


@dataclass(frozen=True, slots=True)
class _Several:
    slot: CompoundSlot

    @property
    def prefix(self) -> bytes:
        return term_prefix(self.slot.pin.generation, self.slot.pin.key_id)

    @property
    def partial(self) -> bool:
        return any(part.normaliser.partial for part in self.slot.definition.parts)

    def terms(self, rows: Sequence[Sequence[object]]) -> list[bytes | None]:
        return self.slot.terms(rows)


def slot_length(serving: Field | CompoundTerms, move: SlotMove) -> int:
    """The length of the terms of a slot that is pinned, in bytes. Raises: KmsError."""
    if isinstance(serving, CompoundTerms):
        several = serving.plan().slots[move.slot]
        bits = None if several is None else several.definition.bits
    else:
        one = serving.plan().slot(move.index, move.slot)
        bits = None if one is None else one.index.bits
    if bits is None:
        raise ChangeoverError(f"slot {move.slot} of the index {move.index} is pinned to no key")
    return term_bytes(bits)


def guarded_columns(serving: Field | CompoundTerms, move: SlotMove, other: SlotMove | None) -> tuple[str, ...]:
    """The columns whose values, all there, need a term in the slot; none where no trigger can tell.

    A partial index finds no part of some values. Then the other slot tells, if it is of the same normalisers: what has
    a term there has one here.
    """
    rules, others = _normalisers(serving, move), None if other is None else _normalisers(serving, other)
    if not any(rule.partial for rule in rules):
        return move.columns
    return (other.term_column,) if other is not None and rules == others else ()


def _normalisers(serving: Field | CompoundTerms, move: SlotMove) -> list[Normaliser]:
    if isinstance(serving, CompoundTerms):
        several = serving.plan().slots[move.slot]
        return [] if several is None else [part.normaliser for part in several.definition.parts]
    one = serving.plan().slot(move.index, move.slot)
    return [] if one is None else [one.index.normaliser]
