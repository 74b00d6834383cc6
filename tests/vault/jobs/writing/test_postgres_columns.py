"""What PostgreSQL's own catalog says of a table, and the tables that jobs do not write."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, LargeBinary, create_engine, text
from sqlalchemy.types import ARRAY, Float, Integer, Numeric, Text

from tests.vault.jobs.writing.stored_rows import a_table, database
from vault.errors import DefinitionError
from vault.jobs.writing.postgres_columns import PostgresColumn, postgres_columns
from vault.jobs.writing.stored_text import StoredText

pytestmark = pytest.mark.postgres

TABLE = """
CREATE TABLE t (
    id zip PRIMARY KEY, c bytea, u bytea UNIQUE, n numeric(9, 2), a int[], j json, i interval,
    twice numeric GENERATED ALWAYS AS (n * 2) STORED
)
"""
DDL = ("CREATE DOMAIN zip AS char(5)", TABLE, "CREATE VIEW v AS SELECT id, c FROM t")


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    with database(postgres_url, *DDL) as engine:
        yield engine


def test_types_are_those_of_the_database_without_their_lengths(engine: Engine) -> None:
    table = a_table("t", c=LargeBinary(), u=LargeBinary(), n=Numeric(), a=ARRAY(Integer))
    with engine.connect() as connection:
        columns = postgres_columns(connection, table, ["n", "a"], ["c", "u"])
    assert columns == {
        "id": PostgresColumn("id", "bpchar", is_array=False, is_unique=True),
        "n": PostgresColumn("n", "numeric", is_array=False, is_unique=False),
        "a": PostgresColumn("a", "integer[]", is_array=True, is_unique=False),
        "c": PostgresColumn("c", "bytea", is_array=False, is_unique=False),
        "u": PostgresColumn("u", "bytea", is_array=False, is_unique=True),
    }


def test_what_cannot_be_written_is_refused_with_its_name(engine: Engine) -> None:
    table = a_table("t", c=LargeBinary(), n=Float(), j=Text(), i=Text(), twice=Numeric(), x=Integer())
    with engine.connect() as connection:
        for compares, sets, message in (
            (["n"], ["c"], r"t\.n of type numeric is read with a loss"),
            (["j"], ["c"], r"t\.j of type json is read with a loss.*StoredText"),
            (["i"], ["c"], r"t\.i of type interval is read with a loss.*StoredText"),
            (["c"], ["twice"], r"t\.twice of type numeric is generated"),
            (["x"], ["c"], "there is no column x in t"),
        ):
            with pytest.raises(DefinitionError, match=message):
                postgres_columns(connection, table, compares, sets)
        with pytest.raises(DefinitionError, match="there is no table nowhere"):
            postgres_columns(connection, a_table("nowhere"), ["c"], ["c"])
        with pytest.raises(DefinitionError, match="v is not a table"):
            postgres_columns(connection, a_table("v"), ["c"], ["c"])
        postgres_columns(connection, a_table("t", j=StoredText(), c=LargeBinary()), ["j"], ["c"])


def test_a_role_from_which_rows_are_hidden_is_refused(engine: Engine) -> None:
    role = f"clerk_{engine.url.database}"
    with engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {role} LOGIN"))
        connection.execute(text(f"GRANT SELECT, UPDATE ON t TO {role}"))
        connection.execute(text("ALTER TABLE t ENABLE ROW LEVEL SECURITY"))
    clerk = create_engine(engine.url.set(username=role))
    with clerk.connect() as connection, pytest.raises(DefinitionError, match="row-level security of t hides rows"):
        postgres_columns(connection, a_table("t"), ["c"], ["c"])
    clerk.dispose()
    with engine.begin() as connection:
        postgres_columns(connection, a_table("t"), ["c"], ["c"])
        connection.execute(text(f"DROP OWNED BY {role}"))
        connection.execute(text(f"DROP ROLE {role}"))
