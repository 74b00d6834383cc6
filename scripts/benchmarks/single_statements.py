"""What one statement costs on an engine with the vault's hooks: an unrelated one, `==`, a row-bound read.

Hooks sit on SQLAlchemy's classes for the whole process, so a process without them takes turns with this one.
"""

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    select,
)

from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.unrelated_statement import STATEMENTS, memory_engine, unrelated
from vault.attaching import attach
from vault.mapping import Sealed
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

__all__ = ["comparisons"]

BOUND_ROWS = 4000


def comparisons(vault: OpenedVault) -> Iterator[Comparison]:
    engine = memory_engine()
    attach(engine, vault)
    with closing(WithoutHooks()) as other:
        variants = {"no hooks, another process": other.run, "hooks": unrelated(engine)}
        yield Comparison("an unrelated SELECT by key", variants, STATEMENTS, rounds=41, clock=other.clock)
    yield asking(engine)
    yield bound_reading(engine)
    engine.dispose()


class WithoutHooks:
    """A process that does not know the vault, as seen from here."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "scripts.benchmarks.unrelated_statement"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._worked = 0.0

    def run(self) -> None:
        print(file=self._process.stdin, flush=True)
        if self._process.stdout is not None:
            self._worked = float(self._process.stdout.readline())

    def clock(self) -> float:
        """Seconds that both processes have worked."""
        return time.process_time() + self._worked

    def close(self) -> None:
        self._process.communicate()


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
    return Comparison("ask for one value", variants, STATEMENTS, rounds=41)


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
    return Comparison("read rows of one sealed column, SQLite", reads, BOUND_ROWS, rounds=41)
