"""Schema version: the row that says which layout the ledger's tables have, read before anything is written."""

from typing import Final

from sqlalchemy import Connection, insert, inspect, select, text
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.schema import CreateTable

from dp.errors import LedgerError, SchemaVersionError
from dp.ledger.log.audit import HEAD_ID, NO_MAC
from dp.ledger.store.schema import LEDGER_COMPONENT, LEDGER_VERSION, audit_head, metadata, schema
from dp.ledger.store.transaction import Transactions
from dp.ledger.store.upgrade import ADDED, upgrade_from

# Two who create the tables at once: the slower one meets "already exists" and looks again.
CREATE_ATTEMPTS: Final = 5
# sqlite.org/pragma.html: empty for a database in memory.
MAIN_FILE: Final = "SELECT file FROM pragma_database_list WHERE name = 'main'"


def create_schema(transactions: Transactions) -> None:
    """Create what is missing, or bring tables of an earlier version to this one. Harmless when all is there, also from
    several processes at once.

    Raises: SchemaVersionError when the tables have another version; LedgerError for a database in memory.
    """
    for _ in range(CREATE_ATTEMPTS - 1):
        try:
            transactions.use_write_ahead_log()
            transactions.run(_create)
        except (ProgrammingError, IntegrityError, OperationalError):
            continue
        return
    transactions.run(_create)


def require_schema(connection: Connection) -> None:
    """Raises: SchemaVersionError unless the tables are there and of this version."""
    found = recorded_version(connection)
    if found != LEDGER_VERSION:
        have = (
            "missing: create the schema first (noisevault init)"
            if found is None
            else f"of version {found}: stop what writes to them, then bring them to this one (noisevault init)"
            if found in ADDED
            else f"of version {found}: use the release that made them"
        )
        raise SchemaVersionError(
            f"this release writes ledger tables of version {LEDGER_VERSION}, those here are {have}"
        )


def recorded_version(connection: Connection) -> int | None:
    """The version of the ledger's tables, None where there are none."""
    if not inspect(connection).has_table(schema.name):
        return None
    return connection.scalar(select(schema.c.version).where(schema.c.component == LEDGER_COMPONENT))


def _create(connection: Connection, unsure: bool) -> None:  # noqa: ARG001
    found = recorded_version(connection)
    if found in ADDED:
        upgrade_from(found, connection)
    if found is not None:
        return require_schema(connection)
    if connection.dialect.name == "sqlite" and not connection.scalar(text(MAIN_FILE)):
        raise LedgerError("a ledger in memory forgets what was spent; give it a file of its own")
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
    connection.execute(insert(audit_head).values(id=HEAD_ID, sequence=0, mac=NO_MAC))
    connection.execute(insert(schema).values(component=LEDGER_COMPONENT, version=LEDGER_VERSION))
    return None
