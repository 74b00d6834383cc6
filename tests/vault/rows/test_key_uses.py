"""What names a key is counted by its stored bytes, on both kinds of database, without a key."""

from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, func, insert, select, text, update

from kms import Purpose
from tests.vault.projects import make_project, visit
from vault.project import Project
from vault.rows.key_uses import KeyUse, pinned_slots, terms_under, values_under
from vault.rows.raw_table import raw_table


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Project:
    project = make_project(tmp_path, database_url)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(7)])
        connection.execute(insert(project.table("visit")), [visit(9, diagnosis=None)])
    return project


def test_values_are_counted_by_column(project: Project) -> None:
    old = project.opened.keyring.sealing(Purpose.DATA).key.key_id
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(20)])
    found = values_under(project.engine, project.tables.values(), old)
    assert found == [
        KeyUse(8, "values", "visit.national_id"),
        KeyUse(7, "values", "visit.diagnosis"),
        KeyUse(8, "values", "visit.spending"),
    ]
    assert str(found[0]) == "8 values of visit.national_id"
    new = project.opened.keyring.sealing(Purpose.DATA).key.key_id
    assert [use.count for use in values_under(project.engine, project.tables.values(), new)] == [1, 1, 1]
    assert values_under(project.engine, project.tables.values(), b"zzzz") == []


def test_the_count_is_that_of_the_headers(project: Project) -> None:
    """Whatever else stands in the column: a key id later in the bytes, another generation, text."""
    key_id = project.opened.keyring.sealing(Purpose.DATA).key.key_id
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person == 1).values(diagnosis=b"\x01\x07" + key_id + bytes(28)))
        connection.execute(update(raw).where(raw.c.person == 2).values(diagnosis=b"\x01\x00abcd" + key_id * 7))
        connection.execute(update(raw).where(raw.c.person == 3).values(diagnosis=b""))
        stored = connection.execute(select(raw.c.diagnosis)).scalars().all()
    expected = sum(bytes(value)[2:6] == key_id for value in stored if value is not None)
    assert expected == 5
    assert KeyUse(5, "values", "visit.diagnosis") in values_under(project.engine, project.tables.values(), key_id)


def test_text_in_a_column_of_sqlite_disturbs_no_count(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    key_id = project.opened.keyring.sealing(Purpose.DATA).key.key_id
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(1), visit(2)])
        connection.execute(text("UPDATE visit SET diagnosis = 'plain text' WHERE person = 1"))
    assert KeyUse(1, "values", "visit.diagnosis") in values_under(project.engine, project.tables.values(), key_id)


def test_terms_and_slots_name_the_index_key(project: Project) -> None:
    keyring, store = project.opened.keyring, project.opened.key_store.engine
    key_id = keyring.sealing(Purpose.INDEX).key.key_id
    assert terms_under(project.engine, project.tables.values(), key_id) == [
        KeyUse(8, "terms", "visit.national_id_bidx_a")
    ]
    assert pinned_slots(store, keyring.id, key_id) == [KeyUse(1, "slot (bidx, a)", "visit.national_id")]
    assert pinned_slots(store, bytes(16), key_id) == []
    new = keyring.lifecycle.rotate(Purpose.INDEX).key_id
    assert pinned_slots(store, keyring.id, new) == terms_under(project.engine, project.tables.values(), new) == []


def test_a_key_store_without_definitions_has_no_slots(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with project.opened.key_store.engine.begin() as connection:
        connection.execute(text("DROP TABLE noisevault_index_slot"))
    assert pinned_slots(project.opened.key_store.engine, bytes(16), b"aaaa") == []


def test_a_table_without_sealed_columns_need_not_be_there(project: Project) -> None:
    key_id = project.opened.keyring.sealing(Purpose.DATA).key.key_id
    elsewhere = Table("elsewhere", MetaData(), Column("id", Integer))
    assert len(values_under(project.engine, [elsewhere, project.table("visit")], key_id)) == 3


def test_nothing_is_fetched_but_the_counts(project: Project) -> None:
    with project.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(project.table("visit"))) == 8
    key_id = project.opened.keyring.sealing(Purpose.DATA).key.key_id
    for use in values_under(project.engine, project.tables.values(), key_id):
        assert type(use.count) is int
