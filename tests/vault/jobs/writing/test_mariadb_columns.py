"""What MariaDB's own catalog says of a table, and the tables that jobs do not write."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, LargeBinary
from sqlalchemy.types import Integer, Numeric

from tests.vault.jobs.writing.stored_rows import a_table, database
from vault.errors import DefinitionError
from vault.jobs.writing.mariadb_columns import MariadbColumn, mariadb_columns, touched_columns
from vault.jobs.writing.stored_text import StoredText

pytestmark = pytest.mark.mariadb


@pytest.fixture
def engine(mariadb_url: str) -> Iterator[Engine]:
    ddl = (
        "CREATE TABLE t (id VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY, c BLOB, n DECIMAL(9,2),"
        " f FLOAT, twice DECIMAL(9,2) AS (n * 2), at TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)"
    )
    with database(mariadb_url, ddl, "CREATE TABLE m (id INT PRIMARY KEY, c BLOB) ENGINE=MyISAM") as engine:
        yield engine


def test_text_has_a_collation_and_bytes_have_none(engine: Engine) -> None:
    with engine.connect() as connection:
        columns = mariadb_columns(connection, a_table("t"), ["c"], ["c"])
    assert columns["id"] == MariadbColumn("id", "varchar", "latin1", "latin1_bin")
    assert columns["c"] == MariadbColumn("c", "blob", None, None)


def test_columns_that_set_themselves_are_found_unless_the_job_sets_them(engine: Engine) -> None:
    with engine.connect() as connection:
        assert touched_columns(connection, a_table("t"), ["c"]) == ["at"]
        assert touched_columns(connection, a_table("t"), ["at"]) == []


def test_what_cannot_be_written_is_refused_with_its_name(engine: Engine) -> None:
    table = a_table("t", c=LargeBinary(), n=Numeric(asdecimal=False), f=Numeric(), twice=Integer(), x=Integer())
    with engine.connect() as connection:
        for compares, sets, message in (
            (["n"], ["c"], r"t\.n of type decimal is read with a loss"),
            (["f"], ["c"], r"t\.f of type float is read with a loss"),
            (["c"], ["twice"], r"t\.twice of type decimal is generated"),
            (["x"], ["c"], "there is no column x in t"),
        ):
            with pytest.raises(DefinitionError, match=message):
                mariadb_columns(connection, table, compares, sets)
        with pytest.raises(DefinitionError, match="there is no table nowhere"):
            mariadb_columns(connection, a_table("nowhere"), ["c"], ["c"])
        with pytest.raises(DefinitionError, match="m is not an InnoDB table"):
            mariadb_columns(connection, a_table("m"), ["c"], ["c"])
        mariadb_columns(connection, a_table("t", f=StoredText(), c=LargeBinary()), ["f"], ["c"])
