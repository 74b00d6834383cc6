"""A column that is read as the database's own text of it, and set by text."""

from sqlalchemy import select

from tests.vault.jobs.writing.stored_rows import a_table, database, write
from vault.jobs.change import Change
from vault.jobs.writing.stored_text import StoredText

TABLE = a_table("t", v=StoredText())
WIDE, NARROW = '{"a": 1.00}', '{"a":1.00}'


def test_a_document_is_read_compared_and_set_blank_by_blank(database_url: str) -> None:
    with database(database_url, "CREATE TABLE t (id INTEGER PRIMARY KEY, v JSON)") as engine:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO t VALUES (1, '{WIDE}'), (2, '{NARROW}'), (3, NULL)")
            assert connection.scalars(select(TABLE.c.v).order_by(TABLE.c.id)).all() == [WIDE, NARROW, None]
        changes = [Change((number,), (WIDE,), ("[1.0]",)) for number in (1, 2)] + [Change((3,), (None,), ("[ ]",))]
        assert write(engine, TABLE, changes, ["v"], ["v"]) == [True, False, True]
        with engine.connect() as connection:
            assert connection.scalars(select(TABLE.c.v).order_by(TABLE.c.id)).all() == ["[1.0]", NARROW, "[ ]"]
