"""What one statement costs on an engine with the vault's hooks: an unrelated one, `==`, a row-bound read.

Hooks sit on SQLAlchemy's classes for the whole process, so a process without them takes turns with this one.
"""

import multiprocessing
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection as Pipe
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    insert,
    select,
)
from sqlalchemy.pool import StaticPool

from scripts.benchmarks.comparison import Comparison
from vault.attach import attach
from vault.mapping import Sealed
from vault.opened import OpenedVault
from vault.term import BlindIndex

__all__ = ["comparisons"]

STATEMENTS = 1000
BOUND_ROWS = 20_000


def comparisons(vault: OpenedVault) -> Iterator[Comparison]:
    engine = memory_engine()
    attach(engine, vault)
    with process_without_hooks() as run_there:
        variants = {"no hooks, another process": run_there, "hooks": unrelated(engine)}
        yield Comparison("an unrelated SELECT by key", variants, STATEMENTS)
    yield asking(engine)
    yield bound_reading(engine)
    engine.dispose()


def memory_engine() -> Engine:
    return create_engine("sqlite://", poolclass=StaticPool)


def unrelated(engine: Engine) -> Callable[[], None]:
    """Runs a SELECT, built anew each time, on a table with no sealed column."""
    table = Table("town", MetaData(), Column("id", Integer, primary_key=True), Column("name", String))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": number, "name": str(number)} for number in range(100)])

    def call() -> None:
        with engine.connect() as connection:
            for number in range(STATEMENTS):
                connection.execute(select(table.c.name).where(table.c.id == number % 100)).all()

    return call


def serve_unrelated(pipe: Pipe) -> None:
    """The other process: it never declares a sealed column, so no hook is installed."""
    call = unrelated(memory_engine())
    while pipe.recv():
        call()
        pipe.send(True)


@contextmanager
def process_without_hooks() -> Iterator[Callable[[], None]]:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve_unrelated, args=(there,))
    process.start()

    def run_there() -> None:
        here.send(True)
        here.recv()

    try:
        yield run_there
    finally:
        here.send(False)
        process.join()


def asking(engine: Engine) -> Comparison:
    metadata = MetaData()
    key = partial(Column, "id", Integer, primary_key=True)
    plain = Table("plain", metadata, key(), Column("name", Text, index=True))
    sealed = Table("patient", metadata, key(), Column("name", Sealed(Text, index=BlindIndex())))
    metadata.create_all(engine)
    names = [secrets.token_hex(10) for _ in range(STATEMENTS)]
    with engine.begin() as connection:
        for table in (plain, sealed):
            connection.execute(insert(table), [{"id": number, "name": name} for number, name in enumerate(names)])

    def anew(table: Table) -> None:
        with engine.connect() as connection:
            for name in names:
                connection.execute(select(table.c.id).where(table.c.name == name)).all()

    def held(table: Table) -> None:
        statement = select(table.c.id).where(table.c.name == bindparam("wanted"))
        with engine.connect() as connection:
            for name in names:
                connection.execute(statement, {"wanted": name}).all()

    variants = {
        "plain ==, built anew": partial(anew, plain),
        "sealed ==, built anew": partial(anew, sealed),
        "plain ==, held": partial(held, plain),
        "sealed ==, held": partial(held, sealed),
    }
    return Comparison("ask for one value", variants, STATEMENTS)


def bound_reading(engine: Engine) -> Comparison:
    metadata = MetaData()
    key = partial(Column, "id", BigInteger, primary_key=True, autoincrement=False)
    kinds: dict[str, Any] = {
        "sealed": Sealed(Text),
        "sealed, bound to its row": Sealed(Text, bind="id"),
        "plain": Text(),
    }
    tables = {
        name: Table(f"note_{number}", metadata, key(), Column("note", kind))
        for number, (name, kind) in enumerate(kinds.items())
    }
    metadata.create_all(engine)
    with engine.begin() as connection:
        rows = [{"id": number, "note": secrets.token_hex(10)} for number in range(BOUND_ROWS)]
        for table in tables.values():
            connection.execute(insert(table), rows)

    def read(table: Table) -> None:
        with engine.connect() as connection:
            connection.execute(select(table.c.id, table.c.note)).all()

    reads = {name: partial(read, table) for name, table in tables.items()}
    return Comparison("read rows of one sealed column, SQLite", reads, BOUND_ROWS)
