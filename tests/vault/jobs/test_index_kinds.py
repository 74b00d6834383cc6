"""Each kind of index moves by the same steps: shared by tables, over several columns, added and removed ones."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from kms.key_record import Purpose
from tests.sizes import sized
from tests.vault.jobs.indexed_people import People, Process, definition_in, person_table
from tests.vault.jobs.reindexing.test_index_steps import to_the_end
from vault.changeover.phase import Phase, Subject
from vault.errors import DefinitionError
from vault.index.change import begin_compound_change, begin_field_changes, record_removal
from vault.jobs.reindexing.index_members import members_of, recorded_parts
from vault.jobs.reindexing.index_steps import IndexSteps
from vault.mapping import CompoundIndex, Sealed
from vault.mapping.compound_index import compounds_of
from vault.mapping.definitions import definition_of
from vault.normalise import casefold
from vault.normalisers.parts import last_four
from vault.rows.raw_table import raw_table
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def people(database_url: str, tmp_path: Path) -> Iterator[People]:
    people = People.made(database_url, tmp_path, person_table(BlindIndex(), unique=False))
    people.lease = 0.4
    yield people
    people.close()


def steps_of(people: People, subject: Subject, tables: list[Table]) -> IndexSteps:
    steps = people.steps(tables[0], subject)
    vault = people.opened[-1]
    steps.members, steps.parts = members_of(subject, tables, vault), recorded_parts(vault, subject)
    return steps


def test_a_shared_index_moves_for_all_its_tables_at_once(people: People) -> None:
    tables = [shared_table(name) for name in ("guest", "member")]
    for table in tables:
        table.metadata.create_all(people.engine)
        fill(people, table)
    newer = [shared_table(table.name, casefold, 1) for table in tables]
    vault = people.vault()
    who = Subject("", "", "person")
    steps = steps_of(people, who, newer)
    begun = begin_field_changes(steps.changeovers, vault.keyring, definition_of(newer[0].c.name), who="ann")
    assert [one.subject for one in begun] == [who]
    one_table = steps_of(people, who, newer[:1])
    deadline = time.monotonic() + 30
    while "run this command for member.name as well" not in one_table.forward().reason:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    to_the_end(steps_of(people, who, newer))
    terms = [set(stored(people, table, "name_who_b")) for table in tables]
    assert terms[0] == terms[1]
    assert None not in terms[0]
    assert all(set(stored(people, table, "name_who_a")) == {None} for table in tables)
    for table in (tables[0], newer[1]):  # of code from before, and of now
        field = people.vault().field(definition_of(table.c.name))
        assert field.asked_term("who", "ANN") in terms[0]


def shared_table(name: str, normaliser: Any = None, generation: int = 0) -> Table:
    index = (
        BlindIndex(name="who", scope="person")
        if normaliser is None
        else BlindIndex(normaliser, 64, "who", scope="person")
    )
    sealed = Sealed(String(40), index=index, generation=generation)
    return Table(name, MetaData(), Column("id", Integer, primary_key=True), Column("name", sealed))


def fill(people: People, table: Table) -> None:
    field = people.vault().field(definition_of(table.c.name))
    raw = raw_table(table)
    with people.engine.begin() as connection:
        for key, name in enumerate(("Ann", "Bob"), start=1):
            terms = {n: t for n, t in field.terms(name).items() if n in field.plan().written}
            connection.execute(insert(raw).values(id=key, name=field.seal(name), **terms))


def stored(people: People, table: Table, column: str) -> list[Any]:
    raw = raw_table(table)
    with people.engine.connect() as connection:
        return list(connection.scalars(select(raw.c[column]).order_by(raw.c.id)))


def test_an_index_over_several_columns_moves_to_a_new_key(people: People) -> None:
    table = Table(
        "stay",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("name", Sealed(String(40))),
        Column("city", Sealed(String(40))),
        CompoundIndex("both", "name", "city", unique=True),
    )
    table.metadata.create_all(people.engine)
    vault = people.vault()
    (compound,) = compounds_of(table)
    terms, raw = vault.compound(compound.definition), raw_table(table)
    fields = {name: vault.field(definition_of(table.c[name])) for name in ("name", "city")}
    rows = [("Ann", "Bonn"), ("Bob", None), ("Bob", "Bonn")]
    with people.engine.begin() as connection:
        for key, row in enumerate(rows):
            sealed = {name: field.seal(value) for (name, field), value in zip(fields.items(), row, strict=True)}
            connection.execute(insert(raw).values(id=key, both_a=terms.terms([row])[0], **sealed))
    new = vault.keyring.lifecycle.rotate(Purpose.INDEX)
    subject = Subject("stay", "", "both")
    steps = steps_of(people, subject, [table])
    begin_compound_change(steps.changeovers, people.vault().keyring, compound.definition, who="ann")
    to_the_end(steps_of(people, subject, [table]))
    vault.keyring.beside.end()
    assert stored(people, table, "both_b") == terms.terms_by_slot(rows)["b"]
    assert terms.asked_term(("Ann", "Bonn"))[1:5] == new.key_id
    assert stored(people, table, "both_a") == [None] * 3
    (index,) = [one for one in inspect(people.engine).get_indexes("stay") if one["column_names"] == ["both_b"]]
    assert index["unique"]


def test_an_index_is_added_to_rows_that_are_there_and_removed_again(people: People) -> None:
    old = person_table(BlindIndex(), unique=False)
    both = person_table(BlindIndex(), BlindIndex(last_four, name="last4"), unique=False, generation=1)
    process = people.process(old)
    for key in range(5):
        process.insert(key, f"ssn 000{key}")
    with people.engine.begin() as connection:
        for slot in "ab":
            kind = {"postgresql": "BYTEA", "sqlite": "BLOB"}.get(people.engine.dialect.name, "BINARY(37)")
            connection.exec_driver_sql(f"ALTER TABLE person ADD COLUMN ssn_last4_{slot} {kind}")
    last4 = Subject("person", "ssn", "last4")
    steps = people.steps(both, last4)
    begin_field_changes(steps.changeovers, people.vault().keyring, definition_in(both), who="ann")
    newer = people.process(both)
    with pytest.raises(DefinitionError, match="cannot be asked now"):
        newer.field.asked_term("last4", "0001")
    to_the_end(people.steps(both, last4))
    newer.field.keyring.beside.end()
    assert people.nulls("ssn_last4_a") == 0
    assert newer.field.asked_term("last4", "0001") in stored(people, both, "ssn_last4_a")
    rest = {
        "bidx": person_table(BlindIndex(last_four, name="last4"), unique=False, generation=2),
        "last4": person_table(unique=False, generation=3),
    }
    for name, declared in rest.items():
        remove(people, name, declared, newer)
    assert newer.field.terms("x")["ssn_last4_a"] is None, "older code goes on"


def remove(people: People, name: str, declared: Table, older: Process) -> None:
    removing = people.steps(declared, Subject("person", "ssn", name))
    keyring, definition = people.vault().keyring, definition_in(declared)
    begin_field_changes(removing.changeovers, keyring, definition, who="ann")
    older.field.keyring.beside.end()
    with pytest.raises(DefinitionError, match="cannot be asked now"):
        older.field.asked_term(name, "0001")
    removing.on_removal = lambda store: record_removal(store, keyring.id, definition)
    to_the_end(removing)
    people.process(declared)
    assert people.nulls(f"ssn_{name}_a") == 5


def test_a_process_that_slept_through_its_lease_is_stopped_by_the_guard(people: People) -> None:
    table = person_table(BlindIndex(), unique=False)
    sleeper = people.process(table)
    plan = sleeper.field.plan()
    people.vault().keyring.lifecycle.rotate(Purpose.INDEX)
    steps = people.steps(table)
    begin_field_changes(steps.changeovers, people.vault().keyring, definition_in(table), who="ann")
    deadline = time.monotonic() + 30
    while True:
        now = steps.forward().changeover
        if now is None or now.phase is Phase.DUAL_ASK_NEW:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    late = {name: term for name, term in sleeper.field.terms("late", plan).items() if name in plan.written}
    assert set(late) == {"ssn_bidx_a"}
    if now is not None:
        with pytest.raises(DBAPIError, match="without its term"), people.engine.begin() as connection:
            connection.execute(insert(sleeper.raw).values(id=9, ssn=sleeper.field.seal("late"), **late))


def killed_after(seconds: float, url: str, folder: Path) -> None:
    """A process that goes forward to the end, or dies before."""
    threading.Thread(target=lambda: (time.sleep(seconds), os.kill(os.getpid(), signal.SIGKILL)), daemon=True).start()
    people = People(create_engine(url), folder, lease=0.3)
    steps = people.steps(person_table(BlindIndex(), unique=False))
    while not steps.forward().is_done:
        time.sleep(0.02)


def test_a_command_that_is_killed_anywhere_goes_on_where_it_was(people: People) -> None:
    table = person_table(BlindIndex(), unique=False)
    process = people.process(table)
    for key in range(200):
        process.insert(key, f"ssn {key}")
    people.vault().keyring.lifecycle.rotate(Purpose.INDEX)
    steps = people.steps(table)
    begin_field_changes(steps.changeovers, people.vault().keyring, definition_in(table), who="ann")
    url = people.engine.url.render_as_string(hide_password=False)
    # Forked from one that has imported nearly all: what is interrupted is the work and not the imports.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.vault.jobs.indexed_people"])
    ends = []
    for number in range(24):
        seconds = 0.05 * (sized(16, 13) / 10) ** number  # from before it has begun, on any machine
        child = processes.Process(target=killed_after, args=(seconds, url, people.folder))
        child.start()
        child.join()
        assert child.exitcode in {0, -signal.SIGKILL}
        process.field.keyring.beside.end()
        assert process.find("ssn 7") == [7]
        assert process.find("ssn 150") == [150]
        ends.append(child.exitcode)
        if child.exitcode == 0:
            break
    to_the_end(steps)
    assert -signal.SIGKILL in ends
    assert people.nulls("ssn_bidx_b") == 0
    assert people.nulls("ssn_bidx_a") == 200
