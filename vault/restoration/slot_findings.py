"""Slot findings: generations and terms that the key store's definitions and pins do not explain."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, Table, inspect, select

from kms.key_database import reading
from vault.changeover.in_force import changeover_from
from vault.changeover.phase import Subject
from vault.changeover.tables import changeover_part_table, changeover_table
from vault.definitions.definition_tables import field_table, index_slot_table
from vault.definitions.index_definition import shared_definitions
from vault.definitions.index_slot import SLOTS
from vault.mapping.compound_index import compounds_of
from vault.mapping.definitions import definition_of, sealed_columns, term_columns
from vault.restoration.finding import Finding, FindingKind
from vault.rows.header_counts import Made, TableCounts

__all__ = ["Recorded", "generation_findings", "read_recorded", "slot_findings"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Of all keyrings together: a row says by its key whose it is.

    generations: by table and column. pins: by subject and slot. asked: the slots of subjects that change.
    complete: places of which a change under way has proved that no row lacks them.
    """

    generations: Mapping[tuple[str, str], frozenset[int]]
    pins: Mapping[tuple[Subject, str], frozenset[Made]]
    asked: Mapping[Subject, frozenset[str]]
    complete: frozenset[tuple[Subject, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Slot:
    """value: the column that it has a term for, where every value has one."""

    subject: Subject
    slot: str
    column: str
    value: str | None


def read_recorded(key_store: Engine) -> Recorded:
    """Nothing where the tables are not there. Raises: UnavailableError."""
    generations: dict[tuple[str, str], frozenset[int]] = {}
    pins: dict[tuple[Subject, str], frozenset[Made]] = {}
    asked: dict[Subject, frozenset[str]] = {}
    complete: set[tuple[Subject, str]] = set()
    there = set(inspect(key_store).get_table_names())
    with reading(key_store) as connection:
        if field_table.name in there:
            for row in connection.execute(select(field_table)):
                place = row.table_name, row.column_name
                generations[place] = generations.get(place, frozenset()) | {row.generation}
        if index_slot_table.name in there:
            for row in connection.execute(select(index_slot_table)):
                at = Subject(row.table_name, row.column_name, row.index_name), row.slot
                pins[at] = pins.get(at, frozenset()) | {Made(bytes(row.key_id), row.generation)}
        if changeover_table.name in there:
            for change in map(changeover_from, connection.execute(select(changeover_table))):
                asked[change.subject] = asked.get(change.subject, frozenset()) | {change.asked}
        if changeover_part_table.name in there:
            for row in connection.execute(select(changeover_part_table)):
                if row.complete_at is not None:
                    complete.add((Subject(row.table_name, row.column_name, row.index_name), row.place))
    return Recorded(generations, pins, asked, frozenset(complete))


def generation_findings(table: Table, counts: TableCounts, recorded: Recorded) -> Iterator[Finding]:
    """Values by definitions that are not recorded: they do not open."""
    by_name = {one.name: one for one in counts.columns if one.holds == "values"}
    for column in sealed_columns(table):
        definition = definition_of(column)
        known = recorded.generations.get((definition.table, definition.column), frozenset())
        numbers = {made.generation: 0 for made in by_name[column.name].made if made.generation not in known}
        for made, number in by_name[column.name].made.items():
            if made.generation in numbers:
                numbers[made.generation] += number
        for generation, number in sorted(numbers.items()):
            known_ones = ", ".join(map(str, sorted(known))) or "none"
            text = f"{number} values of generation {generation}; recorded: {known_ones}"
            yield Finding(FindingKind.GENERATION_UNKNOWN, f"{table.fullname}.{column.name}", number, text)


def slot_findings(table: Table, counts: TableCounts, recorded: Recorded, live: Iterable[bytes]) -> Iterator[Finding]:
    """Terms that no pin explains, and values without a term in the slot that is asked. live: keys that open."""
    by_name, living = {one.name: one for one in counts.columns}, set(live)
    for slot in _slots(table):
        pins, terms = recorded.pins.get((slot.subject, slot.slot), frozenset()), by_name[slot.column]
        where = f"{table.fullname}.{slot.column}"
        for made, number in sorted(terms.made.items()):
            if made not in pins or made.key_id not in living:
                text = f"{number} terms of generation {made.generation}, which slot {slot.slot} is not made by"
                yield Finding(FindingKind.SLOT_OTHER, where, number, text, made.key_id)
        lacking = 0 if slot.value is None else terms.null - by_name[slot.value].null
        if lacking > 0 and _is_asked(slot, recorded):
            text = f"{lacking} values without a term in slot {slot.slot}, which is asked"
            yield Finding(FindingKind.TERM_LACKING, where, lacking, text)
        elif lacking > 0 and (slot.subject, slot.slot) in recorded.complete:
            text = f"{lacking} values without a term in slot {slot.slot}, of which it was proved that there is none"
            yield Finding(FindingKind.PROOF_STALE, where, lacking, text)


def _slots(table: Table) -> Iterator[_Slot]:
    for column in sealed_columns(table):
        definition = definition_of(column)
        shared = shared_definitions(definition)
        stored = iter(term_columns(column))
        for index in definition.indexes:
            subject = Subject(definition.table, definition.column, index.name)
            if index.name in shared:
                subject = Subject("", "", shared[index.name].scope)
            for slot in SLOTS:
                yield _Slot(subject, slot, next(stored).name, None if index.normaliser.partial else column.name)
    for compound in compounds_of(table):
        place = compound.definition.place
        for slot in SLOTS:
            yield _Slot(Subject(place[0], "", place[1]), slot, compound.term_column(slot).name, None)


def _is_asked(slot: _Slot, recorded: Recorded) -> bool:
    asked = recorded.asked.get(slot.subject)
    return slot.slot in asked if asked is not None else (slot.subject, slot.slot) in recorded.pins
