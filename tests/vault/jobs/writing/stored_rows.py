"""Rows of a table made by plain DDL, as a job reads and writes them: through the driver's own values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Column, Engine, MetaData, Table, create_engine, select
from sqlalchemy.types import NULLTYPE, LargeBinary, TypeEngine

from vault.jobs.change import Change
from vault.jobs.short_transaction import short_transaction
from vault.jobs.walking.stored_key import StoredKey
from vault.jobs.writing.choice import batch_writer


@contextmanager
def database(url: str, *ddl: str) -> Iterator[Engine]:
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in ddl:
            connection.exec_driver_sql(statement)
    yield engine
    engine.dispose()


def a_table(name: str, keys: Sequence[str] = ("id",), schema: str | None = None, **columns: TypeEngine[Any]) -> Table:
    """The raw table of a job: its keys as the driver gives them; column c of bytes unless others are named."""
    stored = [Column(key, StoredKey(NULLTYPE), primary_key=True) for key in keys]
    others = [Column(key, kind) for key, kind in (columns or {"c": LargeBinary()}).items()]
    return Table(name, MetaData(), *stored, *others, schema=schema)


def read(engine: Engine, table: Table, columns: Sequence[str]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Of each row, by its key, the columns: what a page of a job holds."""
    keys = list(table.primary_key.columns)
    with engine.connect() as connection:
        rows = connection.execute(select(*keys, *(table.c[name] for name in columns))).all()
    return {tuple(row[: len(keys)]): tuple(row[len(keys) :]) for row in rows}


def write(
    engine: Engine,
    table: Table,
    changes: Sequence[Change],
    compares: Sequence[str] = ("c",),
    sets: Sequence[str] = ("c",),
    lock_seconds: float = 1,
) -> list[bool]:
    """lock_seconds: how long the job's transaction would wait for a row."""
    with engine.connect() as connection:
        writer = batch_writer(connection, table, compares, sets)
    with short_transaction(engine, lock_seconds) as connection:
        return writer.write(connection, changes)


def all_changed(rows: Mapping[tuple[Any, ...], tuple[Any, ...]], new: Callable[[int], tuple[Any, ...]]) -> list[Change]:
    return [Change(key, old, new(number)) for number, (key, old) in enumerate(rows.items())]
