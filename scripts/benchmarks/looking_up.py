"""One row by a sealed value among a million in PostgreSQL, against the same look-up on a plain, indexed column."""

import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from sqlalchemy import BigInteger, Engine, Table, Text, bindparam, create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault
from scripts.benchmarks.postgres_server import postgres_server
from vault.attaching import attach
from vault.mapping import Sealed
from vault.mapping.finding import find, find_all
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

__all__ = ["comparisons"]

ROWS = 1_000_000
LOOK_UPS = 200
CHUNK = 50_000
# Of a million rows about seven others have the term that is asked for.
SHORT = BlindIndex(bits=17)

Call = Callable[[], object]


class Base(DeclarativeBase):
    pass


class Plain(Base):
    __tablename__ = "person_plain"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text, index=True)


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex()))


class Short(Base):
    """As Person, by an index so short that unequal names share its terms."""

    __tablename__ = "person_short"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Sealed(Text, index=SHORT))


def comparisons(rows: int = ROWS) -> Iterator[Comparison]:
    """rows: how many each table has."""
    with tempfile.TemporaryDirectory() as folder, postgres_server() as url:
        vault = fresh_vault(Path(folder))
        engine = create_engine(url, pool_size=1, max_overflow=0)
        attach(engine, vault)
        names = [secrets.token_hex(10) for _ in range(rows)]
        load(engine, vault, names)
        wanted = [secrets.choice(names) for _ in range(LOOK_UPS)]
        measure = partial(Comparison, operations=LOOK_UPS, rounds=25, clock=perf_counter)
        yield measure(f"one object of {rows:,}, ORM", objects(engine, wanted))
        yield measure(f"one row of {rows:,}, Core", values(engine, wanted))
        engine.dispose()


def load(engine: Engine, vault: OpenedVault, names: Sequence[str]) -> None:
    """Fill the tables by COPY, sealed and with terms as an INSERT would; their indexes are made afterwards."""
    tables: list[Any] = [kind.__table__ for kind in (Plain, Person, Short)]
    for table in tables:
        for index in (indexes := set(table.indexes)):
            table.indexes.discard(index)
        Base.metadata.create_all(engine, [table])
        for start in range(0, len(names), CHUNK):
            copy(engine, table, list(columns_of(vault, table, start, names[start : start + CHUNK]).items()))
        for index in indexes:
            index.create(engine)
            table.indexes.add(index)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


def columns_of(vault: OpenedVault, table: Table, start: int, names: Sequence[str]) -> dict[str, Iterable[Any]]:
    owner = getattr(table.c.name.type, "owner", None)
    keys = range(start, start + len(names))
    if owner is None:
        return {"id": keys, "name": names}
    field = vault.field(owner.definition)
    return {"id": keys, "name": field.seal_many(names), **field.terms_by_column(names)}


def copy(engine: Engine, table: Table, columns: Sequence[tuple[str, Iterable[Any]]]) -> None:
    named = ", ".join(name for name, _ in columns)
    kinds = ["int8" if name == "id" else "text" if table is Plain.__table__ else "bytea" for name, _ in columns]
    raw = engine.raw_connection()
    try:
        with raw.cursor().copy(f"COPY {table.name} ({named}) FROM STDIN (FORMAT BINARY)") as into:
            into.set_types(kinds)
            for row in zip(*(values for _, values in columns), strict=True):
                into.write_row(row)
        raw.commit()
    finally:
        raw.close()


def objects(engine: Engine, wanted: Sequence[str]) -> dict[str, Call]:
    def anew(kind: type[Any]) -> None:
        with Session(engine) as session:
            for name in wanted:
                session.scalars(select(kind).where(kind.name == name).order_by(kind.id).limit(1)).first()

    def held(kind: type[Any]) -> None:
        statement = select(kind).where(kind.name == bindparam("wanted")).order_by(kind.id).limit(1)
        with Session(engine) as session:
            for name in wanted:
                session.scalars(statement, {"wanted": name}).first()

    def by_find(kind: type[Any]) -> None:
        with Session(engine) as session:
            for name in wanted:
                find(session, kind, by={kind.name: name})

    def by_find_all(kind: type[Any]) -> None:
        with Session(engine) as session:
            for name in wanted:
                list(find_all(session, kind, by={kind.name: name}))

    def all_anew() -> None:
        with Session(engine) as session:
            for name in wanted:
                session.scalars(select(Plain).where(Plain.name == name).order_by(Plain.id)).all()

    return {
        "plain ==, built anew": partial(anew, Plain),
        "sealed ==, built anew": partial(anew, Person),
        "find()": partial(by_find, Person),
        "find(), truncated": partial(by_find, Short),
        "plain, all rows": all_anew,
        "find_all()": partial(by_find_all, Person),
        "find_all(), truncated": partial(by_find_all, Short),
        "plain ==, held": partial(held, Plain),
        "sealed ==, held": partial(held, Person),
    }


def values(engine: Engine, wanted: Sequence[str]) -> dict[str, Call]:
    def anew(table: Table) -> None:
        with engine.connect() as connection:
            for name in wanted:
                connection.execute(select(table).where(table.c.name == name).order_by(table.c.id).limit(1)).first()

    def held(table: Table) -> None:
        statement = select(table).where(table.c.name == bindparam("wanted")).order_by(table.c.id).limit(1)
        with engine.connect() as connection:
            for name in wanted:
                connection.execute(statement, {"wanted": name}).first()

    def by_find(table: Table) -> None:
        with engine.connect() as connection:
            for name in wanted:
                find(connection, table, by={table.c.name: name})

    plain, sealed, short = (cast("Table", kind.__table__) for kind in (Plain, Person, Short))
    return {
        "plain ==, built anew": partial(anew, plain),
        "sealed ==, built anew": partial(anew, sealed),
        "find()": partial(by_find, sealed),
        "find(), truncated": partial(by_find, short),
        "plain ==, held": partial(held, plain),
        "sealed ==, held": partial(held, sealed),
    }
