"""What looking at stored rows costs on PostgreSQL: counting by key against count(*), verifying against reading."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from sqlalchemy import Column, Engine, Integer, MetaData, Select, Table, Text, create_engine, func, select, text

from kms import Purpose
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault
from scripts.benchmarks.postgres_server import postgres_server
from vault.attaching import attach
from vault.jobs.verifying.page import InOrder
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.verify import Verify, VerifySettings
from vault.mapping import Sealed
from vault.mapping.definitions import definition_of
from vault.opened import OpenedVault
from vault.rows.header_counts import header_counts
from vault.rows.raw_table import raw_table
from vault.terms.term import BlindIndex

__all__ = ["comparisons"]

COUNTED, VERIFIED = 1_000_000, 100_000
CHUNK = 10_000


def person(name: str) -> Table:
    return Table(
        name,
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("name", Sealed(Text, index=BlindIndex())),
        Column("note", Sealed(Text)),
    )


def comparisons() -> Iterator[Comparison]:
    with TemporaryDirectory() as folder, postgres_server() as url:
        vault = fresh_vault(Path(folder))
        engine = create_engine(url, hide_parameters=True)
        large, small = person("large"), person("small")
        for table, rows in ((large, COUNTED), (small, VERIFIED)):
            attach(engine, vault, table.metadata)
            table.create(engine)
            fill(engine, vault, table, rows)
        # Over all rows: the microseconds are those of the whole call.
        once = partial(Comparison, operations=1, rounds=5, clock=perf_counter)
        name = large.c.name.name
        yield once(
            "1,000,000 rows, counted",
            {
                "select count(*)": scalar(engine, select(func.count()).select_from(raw_table(large))),
                f"select count({name})": scalar(engine, select(func.count(raw_table(large).c[name]))),
                "status: by key and generation of four columns": partial(header_counts, engine, large),
            },
        )
        check = RowCheck(small, vault)
        yield Comparison(
            "100,000 rows, a row",
            {
                "pages read in key order": partial(read_all, engine, check),
                "verify: two values opened, a term recomputed": Verify(check, engine, VerifySettings(keep=False)).run,
            },
            operations=VERIFIED,
            rounds=3,
            clock=perf_counter,
        )
        engine.dispose()
        vault.close()


def fill(engine: Engine, vault: OpenedVault, table: Table, rows: int) -> None:
    """Half of the rows are under one key and half under the next."""
    fields = [vault.field(definition_of(column)) for column in (table.c.name, table.c.note)]
    statement = f"COPY {table.name} (id, name, name_bidx_a, note) FROM STDIN (FORMAT BINARY)"
    connection = engine.raw_connection()
    driver: Any = connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(["int4", "bytea", "bytea", "bytea"])
        for start in range(0, rows, CHUNK):
            if start == rows // 2:
                vault.keyring.lifecycle.rotate(Purpose.DATA)
            values = [f"value of row number {at:012d}" for at in range(start, start + CHUNK)]
            terms = fields[0].terms_by_column(values)["name_bidx_a"]
            sealed = [field.seal_many(values) for field in fields]
            for at, row in enumerate(zip(sealed[0], terms, sealed[1], strict=True)):
                copy.write_row((start + at, *row))
    connection.commit()
    connection.close()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as own:
        own.execute(text(f"VACUUM ANALYZE {table.name}"))


def scalar(engine: Engine, statement: Select[Any]) -> Callable[[], None]:
    def run() -> None:
        with engine.connect() as connection:
            connection.execute(statement).all()

    return run


def read_all(engine: Engine, check: RowCheck) -> None:
    pages = InOrder(engine, check.table, check.reads)
    while not pages.ended:
        pages.take(CHUNK)
