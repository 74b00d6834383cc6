"""Which databases jobs write into, and what the others are told."""

from pathlib import Path

import pytest
from sqlalchemy import MetaData, Table, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from tests.vault.jobs.writing.stored_rows import a_table
from vault.errors import DefinitionError
from vault.jobs.writing.choice import batch_writer


def test_a_table_without_a_primary_key_is_refused(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.connect() as connection, pytest.raises(DefinitionError, match="t has no primary key"):
        batch_writer(connection, Table("t", MetaData()), ["c"], ["c"])


class OtherDriver(SQLiteDialect_pysqlite):
    """A driver that jobs do not know."""

    driver = "otherdriver"
    supports_statement_cache = True


def test_another_database_is_told_what_is_supported() -> None:
    registry.register("sqlite.otherdriver", __name__, "OtherDriver")
    told = (
        r"jobs write into PostgreSQL \(.*\), MariaDB 10\.6 or later \(.*\) and SQLite, not into sqlite\+otherdriver 3\."
    )
    engine = create_engine("sqlite+otherdriver://")
    with engine.connect() as connection, pytest.raises(DefinitionError, match=told):
        batch_writer(connection, a_table("t"), ["c"], ["c"])
