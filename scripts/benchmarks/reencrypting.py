"""Re-encrypt a table of one 32-character field, against the same work without cryptography and against a peer.

Each way walks its whole table. Between two ways every key is rotated, so that all rows are due again.
"""

import os
import resource
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    bindparam,
    create_engine,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy_utils.types.encrypted.encrypted_type import AesGcmEngine, EncryptedType

from kms import Purpose
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.counted import Count
from scripts.benchmarks.fresh_vault import fresh_vault
from scripts.benchmarks.mariadb_server import find_mariadb, mariadb_server
from scripts.benchmarks.postgres_server import postgres_server
from scripts.benchmarks.server_seconds import server_seconds
from vault.attaching import attach
from vault.jobs.change import Failed
from vault.jobs.changes import Changes
from vault.jobs.collector import rare_collections
from vault.jobs.engine import Job
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.walking.key_pages import keys_of
from vault.jobs.walking.read_rows import column_of
from vault.jobs.walking.stored_key import job_table
from vault.mapping import Sealed
from vault.opened import OpenedVault

__all__ = ["comparisons"]

ROWS = 1_000_000
SMALLER = 5
# The peer's rate does not hang on the size of the table, and it is slow.
SHARE = 10
ROUNDS = 3
AT_ONCE = 50_000
PEER_CHUNK = 5_000
MEMORY_MIB = 32
SEALED_BYTES = 32 + 34
OURS, FLOOR, PEER = "Reencrypt", "the same without cryptography", "sqlalchemy-utils, AesGcmEngine, Core"


class Encrypted(EncryptedType):  # type: ignore[misc]  # it has no types of its own
    cache_ok = True


class Rewrite:
    """As Reencrypt, for the engine; each value is written back turned round."""

    name = "rewrite"
    goal = "turned"

    def __init__(self, table: Table) -> None:
        self.table = job_table(table)
        self.reads = self.compares = self.sets = ["note"]

    def refresh(self) -> None:
        pass

    def renew(self, rows: Sequence[RowMapping]) -> tuple[Changes, list[Failed]]:
        old = column_of(rows, "note")
        return Changes(keys_of(self.table, rows), [old], [[value[::-1] for value in old]]), []

    def groups(self, within: Sequence[Any] = ()) -> Select[Any]:
        head = func.substr(self.table.c.note, 1, 6).label("head")
        inner = select(head).where(*within).subquery()
        counted: Any = select(func.max(inner.c.head), func.count().label("rows"))
        return counted  # type: ignore[no-any-return]

    def unfinished(self, _group: RowMapping) -> Mapping[str, str]:
        return {}


def notes(name: str, kind: Any) -> Table:
    return Table(
        name,
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("note", kind),
        Column("site", Integer),
    )


def fill(engine: Engine, table: Table, rows: int, note: Callable[[], Any] = lambda: secrets.token_hex(16)) -> None:
    table.create(engine)
    for begin in range(0, rows, AT_ONCE):
        some = [{"id": number, "note": note(), "site": 1} for number in range(begin, min(rows, begin + AT_ONCE))]
        with engine.begin() as connection:
            connection.execute(insert(table), some)


def run(work: Any, engine: Engine, rows: int) -> None:
    """One job from the start, its proof included, in a process like that of `noisevault reencrypt`."""
    with rare_collections():
        tally = Job(work, engine).run()
    tally.require_complete()
    if tally.rewritten != rows:
        raise RuntimeError(f"{tally.rewritten} of {rows} rows were rewritten")


class Peer:
    """The fastest way with it: pages in key order, executemany by Core, what is written under another key."""

    def __init__(self, engine: Engine, name: str, rows: int) -> None:
        self._engine = engine
        self._read, self._written = (notes(name, Encrypted(Text, key, AesGcmEngine)) for key in ("a key", "another"))
        fill(engine, self._read, rows)

    def __call__(self) -> None:
        read, written = self._read, self._written
        new = bindparam("new", type_=written.c.note.type)
        statement = update(written).where(written.c.id == bindparam("key")).values(note=new)
        last = -1
        while True:
            page = select(read.c.id, read.c.note).where(read.c.id > last).order_by(read.c.id).limit(PEER_CHUNK)
            with self._engine.begin() as connection:
                rows = connection.execute(page).all()
                if not rows:
                    break
                connection.execute(statement, [{"key": key, "new": note} for key, note in rows])
            last = rows[-1][0]
        self._read, self._written = written, read


def comparisons(rows: int = ROWS) -> Iterator[Comparison | Count]:
    """rows: of the table on PostgreSQL; the others have a fifth of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vault = fresh_vault(folder)
        with postgres_server() as url:
            yield from on_postgres(url, vault, rows)
        yield from elsewhere("SQLite", f"sqlite:///{folder / 'rows.db'}", vault, rows // SMALLER)
        if find_mariadb() is not None:
            with mariadb_server() as url:
                yield from elsewhere("MariaDB", url, vault, rows // SMALLER)


def on_postgres(url: str, vault: OpenedVault, rows: int) -> Iterator[Comparison | Count]:
    engine = create_engine(url)
    attach(engine, vault)
    large, small, few = Rows(engine, vault, "large", rows), Rows(engine, vault, "small", rows // SMALLER), rows // SHARE
    small_peak = peak_mib(small.prepare, small.reencrypt)
    yield Count(
        f"MiB that {rows:,} rows take more than {rows // SMALLER:,}",
        MEMORY_MIB,
        lambda: max(0, peak() - small_peak),
        partial(peak_mib, large.prepare, large.reencrypt),
    )
    smaller = f"{OURS}, {rows // SMALLER:,} rows"
    ways: dict[str, Callable[[], object]] = {
        OURS: large.reencrypt,
        FLOOR: Floor(engine, "floor", rows),
        smaller: small.reencrypt,
        PEER: Peer(engine, "peer", few),
    }
    counts = {OURS: rows, FLOOR: rows, smaller: rows // SMALLER, PEER: few}
    yield compared(
        f"re-encrypt {rows:,} rows, PostgreSQL", ways, counts, partial(between, engine, large, small), engine
    )
    engine.dispose()


def elsewhere(where: str, url: str, vault: OpenedVault, rows: int) -> Iterator[Comparison]:
    engine = create_engine(url)
    attach(engine, vault)
    ours, few = Rows(engine, vault, "ours", rows), rows // SMALLER
    ways: dict[str, Callable[[], object]] = {
        OURS: ours.reencrypt,
        FLOOR: Floor(engine, "floor", rows),
        PEER: Peer(engine, "peer", few),
    }
    counts = {OURS: rows, FLOOR: rows, PEER: few}
    yield compared(f"re-encrypt {rows:,} rows, {where}", ways, counts, partial(between, engine, ours), engine)
    engine.dispose()


class Rows:
    """A table of ours, of which every row is due after prepare()."""

    def __init__(self, engine: Engine, vault: OpenedVault, name: str, rows: int) -> None:
        self._engine, self._vault, self._rows = engine, vault, rows
        self._table = notes(name, Sealed(Text))
        fill(engine, self._table, rows)

    def prepare(self) -> None:
        self._vault.keyring.lifecycle.rotate(Purpose.DATA)

    def reencrypt(self) -> None:
        run(Reencrypt.of(self._table, self._vault), self._engine, self._rows)


class Floor:
    """The same engine and statements, values of the same length, which are turned round."""

    def __init__(self, engine: Engine, name: str, rows: int) -> None:
        self._engine, self._rows = engine, rows
        self._table = notes(name, LargeBinary)
        fill(engine, self._table, rows, lambda: os.urandom(SEALED_BYTES))

    def __call__(self) -> None:
        run(Rewrite(self._table), self._engine, self._rows)


def between(engine: Engine, *tables: Rows) -> None:
    """Every row due again, and the place of the old rows free."""
    tables[0].prepare()
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def compared(
    name: str,
    ways: Mapping[str, Callable[[], object]],
    counts: Mapping[str, int],
    prepare: Callable[[], None],
    engine: Engine,
) -> Comparison:
    worked = processor_seconds(engine) if engine.dialect.name == "postgresql" else None
    return Comparison(name, ways, counts, ROUNDS, prepare, collecting=True, clock=perf_counter, processor=worked)


def processor_seconds(engine: Engine) -> Callable[[], float]:
    """What this process and all of the server's have worked, those that have ended too."""
    server = server_seconds(engine)
    return lambda: process_time() + server()


def peak() -> int:
    """The most memory that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def peak_mib(*calls: Callable[[], None]) -> int:
    for call in calls:
        call()
    return peak()
