"""A FLOAT of MariaDB is told from its neighbours, which its own text does not tell."""

import pytest
from sqlalchemy import select
from sqlalchemy.types import Float, Numeric

from tests.vault.jobs.writing.stored_rows import a_table, database, write
from vault.errors import DefinitionError
from vault.jobs.change import Change
from vault.jobs.writing.choice import batch_writer
from vault.jobs.writing.stored_double import StoredDouble

pytestmark = pytest.mark.mariadb
TABLE = a_table("t", v=StoredDouble())


def test_neighbours_are_read_and_compared_as_two(mariadb_url: str) -> None:
    with database(mariadb_url, "CREATE TABLE t (id INTEGER PRIMARY KEY, v FLOAT)") as engine:
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO t VALUES (1, 16777215), (2, 16777214), (3, 0.1)")
            read = connection.scalars(select(TABLE.c.v).order_by(TABLE.c.id)).all()
        assert read == [16777215.0, 16777214.0, 0.10000000149011612]
        changes = [Change((number,), (16777215.0,), (1.5,)) for number in (1, 2)]
        assert write(engine, TABLE, changes, ["v"], ["v"]) == [True, False]


@pytest.mark.parametrize("kind", [Float(), Numeric()])
def test_a_float_compared_otherwise_or_a_decimal_compared_so_is_refused(mariadb_url: str, kind: Float[float]) -> None:
    ddl = "CREATE TABLE t (id INTEGER PRIMARY KEY, v FLOAT, d DECIMAL(9, 2))"
    with database(mariadb_url, ddl) as engine, engine.connect() as connection:
        with pytest.raises(DefinitionError, match="read with a loss"):
            batch_writer(connection, a_table("t", v=kind), ["v"], ["v"])
        with pytest.raises(DefinitionError, match="read with a loss"):
            batch_writer(connection, a_table("t", d=StoredDouble()), ["d"], ["d"])
