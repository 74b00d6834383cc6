"""Schema version: which layout of its tables a component has in this database."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Column, Connection, Engine, Integer, MetaData, String, Table, insert, select
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.schema import CreateTable

from kms.errors import SchemaVersionError
from kms.key_database import writing
from kms.missing_table import misses_table

__all__ = ["check_schema_version", "create_component", "record_schema_version"]

metadata: Final = MetaData()
schema_table: Final = Table(
    "noisevault_schema",
    metadata,
    Column("component", String(32), primary_key=True),
    Column("version", Integer, nullable=False),
)


def create_component(engine: Engine, component: str, version: int, tables: Sequence[Table]) -> None:
    """Create what is missing of a component's tables; any number of processes may do so at once.

    Raises: SchemaVersionError, UnavailableError.
    """
    try:
        _create(engine, component, version, tables)
    except DBAPIError:  # whoever won this race, on any database, has committed by now
        _create(engine, component, version, tables)


def _create(engine: Engine, component: str, version: int, tables: Sequence[Table]) -> None:
    # A transaction for each component: MariaDB commits at each CREATE, so that one race may be lost for each.
    with writing(engine) as connection:
        for table in tables:
            connection.execute(CreateTable(table, if_not_exists=True))
        record_schema_version(connection, component, version)


def record_schema_version(connection: Connection, component: str, version: int) -> None:
    """Note, in the caller's transaction, that component has this version; does nothing if it has.

    Raises: SchemaVersionError if it has another.
    """
    connection.execute(CreateTable(schema_table, if_not_exists=True))
    found = _version(connection, component)
    if found is None:
        connection.execute(insert(schema_table).values(component=component, version=version))
    elif found != version:
        raise SchemaVersionError(_mismatch(component, found, version))


def check_schema_version(connection: Connection, component: str, version: int) -> None:
    """Compare. Raises: SchemaVersionError if component's tables are missing or of another version."""
    try:
        found = _version(connection, component)
    except (OperationalError, ProgrammingError) as error:
        if error.connection_invalidated or not misses_table(error):
            raise
        found = None
    if found is None:
        raise SchemaVersionError(
            f"the {component} tables are not in this database: create them first (noisevault init)"
        )
    if found != version:
        raise SchemaVersionError(_mismatch(component, found, version))


def _version(connection: Connection, component: str) -> int | None:
    statement = select(schema_table.c.version).where(schema_table.c.component == component)
    found = connection.execute(statement).scalar_one_or_none()
    if found is not None and not isinstance(found, int):  # SQLite keeps a value of any type in any column
        raise SchemaVersionError(f"the version of the {component} tables is no number: they were changed by hand")
    return found


def _mismatch(component: str, found: int, expected: int) -> str:
    advice = "install the newer program" if found > expected else "migrate the tables"
    return f"the {component} tables have version {found}, this program knows version {expected}: {advice}"
