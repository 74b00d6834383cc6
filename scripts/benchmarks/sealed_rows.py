"""100,000 rows with two sealed and indexed fields on PostgreSQL, against the same rows as plain, indexed strings.

Between them stand ready-made bytes of the same lengths without any hook: what no library could be faster than.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from sqlalchemy import Engine, LargeBinary, String, Text, create_engine, insert, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.postgres_server import postgres_server
from vault.attaching import attach
from vault.mapping import Sealed
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

__all__ = ["comparisons"]

ROWS = 100_000
CHARACTERS = 20
PLAIN, SEALED, READY = "plain strings", "two sealed and indexed fields", "ready-made bytes, no hooks"

Rows = list[dict[str, Any]]


class Base(DeclarativeBase):
    pass


class Plain(Base):
    __tablename__ = "plain"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), index=True)
    email: Mapped[str] = mapped_column(String(40), index=True)


class Patient(Base):
    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex()))
    email: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex()))


class Ready(Base):
    """The columns that Patient has in the database, terms included, filled with bytes that were made before."""

    __tablename__ = "ready"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[bytes] = mapped_column(LargeBinary)
    name_bidx_a: Mapped[bytes] = mapped_column(LargeBinary, index=True, deferred=True)
    name_bidx_b: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    email: Mapped[bytes] = mapped_column(LargeBinary)
    email_bidx_a: Mapped[bytes] = mapped_column(LargeBinary, index=True, deferred=True)
    email_bidx_b: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)


KINDS: dict[str, type[Any]] = {PLAIN: Plain, SEALED: Patient, READY: Ready}


def comparisons(vault: OpenedVault) -> Iterator[Comparison]:
    with postgres_server() as url:
        engine = create_engine(url, pool_size=1, max_overflow=0)
        attach(engine, vault)
        Base.metadata.create_all(engine)
        plain = [{"name": secrets.token_hex(10), "email": secrets.token_hex(10)} for _ in range(ROWS)]
        rows = {PLAIN: plain, SEALED: plain, READY: ready_rows()}
        seconds = processor_seconds(engine)
        measure = partial(Comparison, operations=ROWS, rounds=3, collecting=True, clock=perf_counter, processor=seconds)
        truncate = partial(empty, engine)
        core = {name: partial(core_insert, engine, kind, rows[name]) for name, kind in KINDS.items()}
        mapped = {name: partial(orm_insert, engine, kind, rows[name]) for name, kind in KINDS.items()}
        reads = {name: partial(orm_read, engine, kind) for name, kind in KINDS.items()}
        yield measure("insert(table), 100k rows", core, prepare=truncate)
        yield measure("insert(Model), 100k rows", mapped, prepare=truncate)
        empty(engine)
        for call in core.values():
            call()
        yield measure("select(Model), 100k objects", reads)
        engine.dispose()


def processor_seconds(engine: Engine) -> Callable[[], float]:
    """What this process and its one server process have worked."""
    with engine.connect() as connection:
        server = connection.scalar(text("SELECT pg_backend_pid()"))
    stat, ticks = Path(f"/proc/{server}/stat"), os.sysconf("SC_CLK_TCK")

    def seconds() -> float:
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return process_time() + (int(user) + int(system)) / ticks

    return seconds


def ready_rows() -> Rows:
    sealed, term = CHARACTERS + 34, 5 + 32
    return [
        {
            "name": os.urandom(sealed),
            "name_bidx_a": os.urandom(term),
            "email": os.urandom(sealed),
            "email_bidx_a": os.urandom(term),
        }
        for _ in range(ROWS)
    ]


def empty(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE plain, patient, ready RESTART IDENTITY"))


def core_insert(engine: Engine, kind: type[Any], rows: Rows) -> None:
    with engine.begin() as connection:
        connection.execute(insert(kind.__table__), rows)


def orm_insert(engine: Engine, kind: type[Any], rows: Rows) -> None:
    with Session(engine) as session:
        session.execute(insert(kind), rows)
        session.commit()


def orm_read(engine: Engine, kind: type[Any]) -> None:
    with Session(engine) as session:
        session.scalars(select(kind)).all()
