"""Whoever takes a prepared database finds it as it was made."""

from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from tests.prepared import PreparedDatabases
from tests.servers.databases import DATABASES, SERVERS

METADATA = MetaData()
PARENT = Table("parent", METADATA, Column("id", Integer, primary_key=True, autoincrement=False))
CHILD = Table("child", METADATA, Column("name", String(20), primary_key=True), Column("parent", Integer))


@pytest.fixture
def prepared(tmp_path: Path) -> PreparedDatabases:
    return PreparedDatabases(make, METADATA.sorted_tables, tmp_path)


def make(url: str) -> None:
    engine = create_engine(url)
    METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(CHILD.insert().values(name="a 'quoted' 5 % name", parent=None))
    engine.dispose()


def run(url: str, *statements: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def rows(url: str) -> list[object]:
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return [tuple(row) for table in (PARENT, CHILD) for row in connection.execute(select(table))]


@pytest.mark.parametrize("kind", DATABASES)
def test_there_are_the_first_rows_and_no_others(
    prepared: PreparedDatabases, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    for _ in range(3):
        url = prepared.url(kind, request, tmp_path)
        assert rows(url) == [("a 'quoted' 5 % name", None)]
        run(url, "INSERT INTO parent VALUES (1)", "DELETE FROM child", "INSERT INTO child VALUES ('new', 1)")


@pytest.mark.parametrize("kind", SERVERS)
def test_it_is_the_same_database_and_who_was_left_in_it_is_cut_off(
    prepared: PreparedDatabases, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    url = prepared.url(kind, request, tmp_path)
    engine = create_engine(url)
    with engine.connect() as left:
        left.execute(text("DELETE FROM child"))  # and holds its locks
        assert prepared.url(kind, request, tmp_path) == url
        with pytest.raises(DBAPIError):
            left.execute(text("SELECT 1"))
        left.invalidate()
    engine.dispose()
    assert len(rows(url)) == 1


TRIGGER = {
    "postgres": (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "CREATE TRIGGER t AFTER INSERT ON parent FOR EACH ROW EXECUTE FUNCTION f()",
    ),
    "mariadb": ("CREATE TRIGGER t BEFORE INSERT ON parent FOR EACH ROW SET NEW.id = NEW.id + 1",),
}


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE other (id INTEGER)",
        "DROP TABLE child",
        "ALTER TABLE child ADD COLUMN more INTEGER",
        "ALTER TABLE child DROP COLUMN parent",
        "CREATE INDEX of_parent ON child (parent)",
        "CREATE VIEW seen AS SELECT * FROM parent",
        "trigger",
    ],
)
def test_after_a_change_of_what_holds_rows_it_is_another(
    prepared: PreparedDatabases, request: pytest.FixtureRequest, tmp_path: Path, kind: str, change: str
) -> None:
    url = prepared.url(kind, request, tmp_path)
    run(url, *(TRIGGER[kind] if change == "trigger" else (change,)))
    again = prepared.url(kind, request, tmp_path)
    assert again != url
    assert rows(again) == [("a 'quoted' 5 % name", None)]
    engine = create_engine(again)
    assert sorted(inspect(engine).get_table_names()) == ["child", "parent"]
    engine.dispose()
