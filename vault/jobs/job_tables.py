"""Job tables: how the progress of jobs, and the rows that they could not do, lie in the data's own database."""

from typing import Final

from sqlalchemy import BigInteger, Column, Connection, Engine, Integer, MetaData, Table, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from kms.exact_text import MARIADB_TRANSACTIONAL, exact_long_text, exact_text
from vault.errors import JobTablesError
from vault.jobs.outage import is_outage

__all__ = [
    "JOB_TABLE_NAMES",
    "create_job_tables",
    "ddl",
    "has_job_tables",
    "job_table_of_jobs",
    "part_table",
    "quarantine_table",
]

metadata: Final = MetaData()

job_table_of_jobs: Final = Table(
    "noisevault_job",
    metadata,
    Column("job", exact_text(32), primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("part", exact_text(64), primary_key=True),  # digest of the key range; whole: the whole table
    Column("goal", exact_text(64), nullable=False),
    Column("state", exact_text(16), nullable=False),
    Column("wish", exact_text(16), nullable=False),
    Column("run", exact_text(32), nullable=False),  # who runs it, or ran it last
    Column("beat", BigInteger, nullable=False),  # counts on while the run lives
    Column("mark", exact_text(32), nullable=False),  # of the pass: what it puts into quarantine bears it
    Column("number", Integer, nullable=False),  # of the pass
    Column("done_up_to", exact_long_text()),  # primary key as JSON; NULL: at the beginning
    Column("total", BigInteger, nullable=False),  # rows that the table held when the pass began
    Column("seen", BigInteger, nullable=False),  # in this pass
    Column("missed", BigInteger, nullable=False),  # in this pass: changed meanwhile or locked
    Column("failed", BigInteger, nullable=False),  # in this pass
    Column("rewritten", BigInteger, nullable=False),  # since the job was begun
    Column("begun_at", exact_text(32), nullable=False),  # ISO 8601, UTC
    Column("changed_at", exact_text(32), nullable=False),
    **MARIADB_TRANSACTIONAL,
)

quarantine_table: Final = Table(
    "noisevault_quarantine",
    metadata,
    Column("job", exact_text(32), primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("row_digest", exact_text(64), primary_key=True),  # SHA-256 of row_key, which may be too long for an index
    Column("column_name", exact_text(100), primary_key=True),
    Column("row_key", exact_long_text(), nullable=False),  # primary key as JSON
    Column("reason", exact_text(500), nullable=False),
    Column("mark", exact_text(32), nullable=False),
    Column("found_at", exact_text(32), nullable=False),
    **MARIADB_TRANSACTIONAL,
)

part_table: Final = Table(
    "noisevault_job_part",
    metadata,
    Column("job", exact_text(32), primary_key=True),
    Column("table_name", exact_text(200), primary_key=True),
    Column("part", exact_text(64), primary_key=True),  # as in noisevault_job, where its progress is
    Column("place", Integer, nullable=False),  # in key order, from 0
    Column("mark", exact_text(32), nullable=False),  # of the pass that was split so
    Column("after_key", exact_long_text()),  # primary key as JSON, exclusive; NULL: from the beginning
    Column("up_to_key", exact_long_text()),  # inclusive; NULL: to the end
    **MARIADB_TRANSACTIONAL,
)

JOB_TABLE_NAMES: Final = frozenset(metadata.tables)


def has_job_tables(connection: Connection) -> bool:
    found = inspect(connection)
    return all(found.has_table(name) for name in JOB_TABLE_NAMES)


def create_job_tables(engine: Engine) -> None:
    """Make what is not there; two processes may do so at once.

    Raises: JobTablesError, with the statements for somebody who may, when this role may not create tables.
    """
    with engine.connect() as connection:
        if has_job_tables(connection):
            _require_grants(connection)
            return
    try:
        with engine.begin() as connection:
            for table in metadata.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
    except DBAPIError as error:
        if is_outage(error):
            raise
        with engine.connect() as connection:
            if has_job_tables(connection):  # another process was quicker
                return
        raise JobTablesError(ddl(engine)) from None


def _require_grants(connection: Connection) -> None:
    """Raises: JobTablesError where the role may not even read them."""
    try:
        for table in metadata.sorted_tables:
            connection.execute(select(table).limit(0))
    except DBAPIError as error:
        if is_outage(error):
            raise
        raise JobTablesError(ddl(connection.engine)) from None


def ddl(engine: Engine) -> str:
    """The statements that make the tables, for somebody who may run them."""
    made = [str(CreateTable(table, if_not_exists=True).compile(engine)).strip() for table in metadata.sorted_tables]
    return ";\n".join(made) + ";"
