"""Which of some keys a table has, and which of them a range."""

from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert

from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.keys_there import KEYS_AT_ONCE, keys_there
from vault.jobs.walking.stored_key import job_table

TABLE = Table(
    "place",
    MetaData(),
    Column("a", Integer, primary_key=True, autoincrement=False),
    Column("b", String(9), primary_key=True),
)


def test_those_that_are_there_and_those_that_are_in_a_range(database_url: str) -> None:
    engine, keys = create_engine(database_url), [(at, "x") for at in range(2 * KEYS_AT_ONCE + 7)]
    TABLE.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(TABLE), [{"a": a, "b": b} for a, b in keys])
    asked = [*keys, (3, "y"), (-1, "x")]
    with engine.connect() as connection:
        table = job_table(TABLE)
        assert keys_there(connection, table, asked) == set(keys)
        assert keys_there(connection, table, asked, KeyRange((5, "x"), (9, "x"))) == set(keys[6:10])
        assert keys_there(connection, table, []) == set()
