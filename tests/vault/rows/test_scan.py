from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine, insert, select, text, update

from tests.vault.mapping.conftest import new_vault
from tests.vault.projects import make_project, visit
from vault import Sealed, attach, definition_of
from vault.project import Project
from vault.rows.raw_table import raw_table
from vault.rows.scan import Batch, Scan, key_id_of, only_live


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = make_project(tmp_path)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(25)])
    return project


def scan(project: Project, *columns: str, rows_a_batch: int = 10) -> Scan:
    table = project.table("visit")
    return Scan(project.engine, table, project.fields(table), columns, project.opened.keyring.warm(), rows_a_batch)


def keys_in(batch: Batch) -> list[tuple[Any, ...]]:
    return list(zip(*batch.keys, strict=True))


def test_every_row_comes_once_with_its_key_and_only_the_columns_asked_for(project: Project) -> None:
    batches = list(scan(project, "national_id", "site").batches())
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert sorted(key for batch in batches for key in keys_in(batch)) == [(person, 1) for person in range(25)]
    assert set(batches[0].columns) == {"national_id", "site"}
    pairs = [(k[0], v) for batch in batches for k, v in zip(keys_in(batch), batch.columns["national_id"], strict=True)]
    assert all(value == f"99-{person:05d}" for person, value in pairs)


def test_a_row_that_does_not_open_is_left_out_and_counted(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        stored = dict(connection.execute(raw.select().where(raw.c.person == 3)).mappings().one())
        connection.execute(update(raw).where(raw.c.person == 4).values(national_id=stored["national_id"]))
    batches = list(scan(project, "national_id").batches())
    assert [batch.unreadable for batch in batches] == [1, 0, 0]
    assert (4, 1) not in [key for batch in batches for key in keys_in(batch)]
    assert sum(batch.unreadable for batch in scan(project, "diagnosis").batches()) == 0


def test_keys_that_were_not_opened_beforehand_are_not_waited_for(project: Project) -> None:
    table = project.table("visit")
    blind = Scan(project.engine, table, project.fields(table), ("diagnosis",), frozenset())
    assert [batch.unreadable for batch in blind.batches()] == [25]


@pytest.mark.parametrize("column", ["diagnosis", "site", "person", "year"])
def test_text_that_is_no_utf8_ends_no_scan(project: Project, column: str) -> None:
    with project.engine.begin() as connection:
        connection.execute(text(f"UPDATE visit SET {column} = CAST(x'ff' AS TEXT) WHERE person = 4"))
    batches = list(scan(project, "diagnosis", "site").batches())
    assert sum(batch.unreadable for batch in batches) == (column != "site")
    rest = {key for batch in batches for key in keys_in(batch)} - {(4, 1)}
    assert rest == {(person, 1) for person in range(25) if person != 4}


def test_a_scan_leaves_the_connection_as_it_was(project: Project) -> None:
    list(scan(project, "site").batches())
    with project.engine.connect() as connection:
        assert connection.connection.dbapi_connection.text_factory is str  # type: ignore[union-attr]
        assert connection.scalar(select(project.table("visit").c.site)) == 1


def test_a_batch_does_not_show_its_values(project: Project) -> None:
    batch = next(scan(project, "national_id").batches())
    assert "99-" not in repr(batch)


@pytest.mark.parametrize("stored", [None, b"", b"\x01", "text", 5, b"\x02" + bytes(40)])
def test_what_is_no_sealed_value_names_no_key(stored: object) -> None:
    assert key_id_of(stored) is None


def test_a_sealed_value_names_its_key() -> None:
    assert key_id_of(memoryview(b"\x01\x00abcd" + bytes(28))) == b"abcd"


def test_values_of_a_generation_that_bound_other_columns_are_read(tmp_path: Path) -> None:
    def table(bind: str, generation: int) -> Table:
        sealed: Sealed[str] = Sealed(Text, bind=bind, generation=generation)
        keys = [Column(name, Integer, primary_key=True, autoincrement=False) for name in ("person", "year")]
        return Table("t", MetaData(), *keys, Column("x", sealed))

    opened, engine = new_vault(tmp_path), create_engine(f"sqlite:///{tmp_path / 'app.db'}")
    attach(engine, opened)
    for made in (table("year", 0), table("person", 1)):
        made.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(insert(made).values(person=made.c.x.type.generation, year=9, x="v"))
    fields = {"x": opened.field(definition_of(made.c.x))}
    (batch,) = Scan(engine, made, fields, ("x",), opened.warm()).batches()
    assert (batch.unreadable, batch.columns["x"]) == (0, ["v", "v"])
    engine.dispose()
    opened.close()


LIVE, DEAD = b"\1\2\3\4", b"\1\2\3\5"


def sealed(key_id: bytes, form: int = 1, rest: int = 28) -> bytes:
    return bytes([form, 0]) + key_id + bytes(rest)


@pytest.mark.parametrize(
    "odd", [sealed(DEAD), sealed(LIVE, form=2), "text", b"", b"\1", None, memoryview(sealed(DEAD))]
)
@pytest.mark.parametrize("place", [0, 3])
def test_values_of_other_keys_are_left_out_wherever_they_stand(odd: object, place: int) -> None:
    stored = [sealed(LIVE), sealed(LIVE), sealed(LIVE)]
    assert only_live(stored, frozenset({LIVE})) == stored
    stored.insert(place, odd)  # type: ignore[arg-type]
    known = list(only_live(stored, frozenset({LIVE})))
    assert known.pop(place) == (None if odd is None else b"")
    assert known == [sealed(LIVE)] * 3
    assert set(only_live(stored, frozenset())) <= {b"", None}
