"""Write and read one sealed, unindexed text column through Core, against the encrypted types of other libraries.

A type's own cost is its time less that of a plain column.
"""

import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from advanced_alchemy.types import EncryptedString, EncryptedText
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, insert, select
from sqlalchemy.types import TypeEngine
from sqlalchemy_utils.types.encrypted.encrypted_type import AesGcmEngine, EncryptedType, FernetEngine

from scripts.benchmarks.comparison import Comparison
from vault.attaching import attach
from vault.mapping import Sealed
from vault.opened import OpenedVault

__all__ = ["comparisons"]

ROWS = 100_000
ROUNDS = 5
KEY = "a key for the benchmark"
BASE = "a plain column"


class Encrypted(EncryptedType):  # type: ignore[misc]  # it has no types of its own
    """Theirs, with leave to keep the compiled statement, so that no warning stands among the figures."""

    cache_ok = True


def types() -> dict[str, TypeEngine[str]]:
    return {
        "Sealed(Text)": Sealed(Text),
        BASE: Text(),
        "sqlalchemy-utils, AesGcmEngine": Encrypted(Text, KEY, AesGcmEngine),
        "sqlalchemy-utils, FernetEngine": Encrypted(Text, KEY, FernetEngine),
        "advanced-alchemy, String": EncryptedString(KEY),
        "advanced-alchemy, Text": EncryptedText(KEY),
    }


def comparisons(vault: OpenedVault, folder: Path) -> Iterator[Comparison]:
    engine = create_engine(f"sqlite:///{folder / 'column_type.db'}")
    attach(engine, vault)
    metadata = MetaData()
    tables = {
        name: Table(f"note_{number}", metadata, Column("id", Integer, primary_key=True), Column("note", kind))
        for number, (name, kind) in enumerate(types().items())
    }
    metadata.create_all(engine)
    rows = [{"id": number, "note": secrets.token_hex(10)} for number in range(ROWS)]

    def empty() -> None:
        with engine.begin() as connection:
            for table in tables.values():
                connection.execute(table.delete())

    writes = {name: partial(write, engine, table, rows) for name, table in tables.items()}
    yield Comparison("write one text column by Core", writes, ROWS, ROUNDS, empty, BASE)
    empty()
    for call in writes.values():
        call()
    reads = {name: partial(read, engine, table) for name, table in tables.items()}
    yield Comparison("read one text column by Core", reads, ROWS, ROUNDS, base=BASE)
    engine.dispose()


def write(engine: Engine, table: Table, rows: list[dict[str, object]]) -> None:
    with engine.begin() as connection:
        connection.execute(insert(table), rows)


def read(engine: Engine, table: Table) -> None:
    with engine.connect() as connection:
        connection.execute(select(table.c.id, table.c.note)).all()
