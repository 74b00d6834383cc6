"""Commands on tables of 100,000, a million and more rows of one sealed, indexed field of 32 bytes, on PostgreSQL.

Each command runs in a process of its own, so that its memory is its own. Before each re-encryption every row is due and
the place of old rows is free; the server writes whole pages to its log, as it does where data is to outlive a crash.
"""

import io
import os
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from sqlalchemy import Table, text

from kms import ProviderSettings, Purpose
from kms.providers.local import create_key_file
from scripts.benchmarks.postgres_server import postgres_server
from scripts.benchmarks.server_seconds import server_seconds
from scripts.benchmarks.worked import Worked, Works
from vault.budgets import declare_budgets
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project

__all__ = ["comparisons"]

ROWS: Final = (100_000, 1_000_000)
LARGEST: Final = 10_000_000
CHUNK: Final = 20_000
ROWS_A_PERSON: Final = 4
MIB: Final = 2**20
POLICY: Final = """
[vault]
database = "{url}"
keys = "sqlite:///keys.db"
ledger = "sqlite:///ledger.db"
kek = "local:kek"

[table.visit]
key = ["id"]
[table.visit.column]
id = {{ type = "int" }}
person = {{ type = "int", nullable = false }}
spending = {{ type = "int" }}
note = {{ type = "str", sealed = true, bind = ["person"], index = {{ }} }}

[dataset.visits]
table = "visit"
unit = "person"
rows_per_unit = 4
lifetime_epsilon = "3"
bounds.spending = {{ lower = 0, upper = 1000, step = 1 }}
"""
QUESTION: Final = "sum(spending) where note != 'none'"  # every note is opened
COMMANDS: Final = {
    "re-encrypt, one process": ("reencrypt", "--workers", "1"),
    "verify, one process": ("verify", "--workers", "1"),
    "status, one scan": ("status",),
    "ask, one sum, one process": ("ask", QUESTION, "--epsilon", "1"),
    "re-encrypt, two processes": ("reencrypt", "--workers", "2"),
}


def comparisons(*rows: int, largest: bool = False, fillfactor: int = 100) -> Iterator[Works]:
    """rows: of the tables. largest: one of ten millions too. fillfactor: of the tables' pages, in percent."""
    for each in rows or ROWS + (LARGEST,) * largest:
        yield Works(partial(on_a_table, each, fillfactor))


def on_a_table(rows: int, fillfactor: int) -> Iterator[Worked]:
    with tempfile.TemporaryDirectory() as name, postgres_server() as url, closing(made(Path(name), url)) as project:
        log_whole_pages(project)
        by_itself(project, f"ALTER TABLE visit SET (fillfactor = {fillfactor})")
        measuring = Measuring(project, rows, server_seconds(project.engine))
        yield measuring.of("load, COPY", lambda: filled(project, rows))
        for work, words in COMMANDS.items():
            if "reencrypt" in words:
                project.opened.keyring.lifecycle.rotate(Purpose.DATA)
            by_itself(project, "CHECKPOINT")
            yield measuring.of(work, partial(in_a_process, [*words, "--policy", str(Path(name) / "noisevault.toml")]))
            if "reencrypt" in words:
                yield measuring.of(f"VACUUM ANALYZE after {work}", lambda: by_itself(project, "VACUUM ANALYZE visit"))


@dataclass(frozen=True, slots=True)
class Spent:
    """seconds: by the wall clock. client: processor seconds. peak_mib: as Worked."""

    seconds: float
    client: float
    peak_mib: int


@dataclass(frozen=True, slots=True)
class Measuring:
    """server: as server_seconds()."""

    project: Project
    rows: int
    server: Callable[[], float]

    def of(self, work: str, call: Callable[[], Spent]) -> Worked:
        server, wal = self.server(), self._wal()
        spent = call()
        server, wal = self.server() - server, self._wal() - wal
        sizes = [self._asked(f"SELECT pg_{kind}_size('visit')") // MIB for kind in ("table", "indexes")]
        load = os.getloadavg()[0]
        return Worked(
            self.rows, work, spent.seconds, spent.client, server, spent.peak_mib, wal // MIB, sizes[0], sizes[1], load
        )

    def _wal(self) -> int:
        return self._asked("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")

    def _asked(self, statement: str) -> int:
        with self.project.engine.connect() as connection:
            return int(connection.scalar(text(statement)) or 0)


def made(folder: Path, url: str) -> Project:
    path = folder / "noisevault.toml"
    path.write_text(POLICY.format(url=url), encoding="utf-8")
    create_key_file(folder / "kek")
    project = Project.create(Policy.load(path), ProviderSettings())
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        declare_budgets(ledger, project.policy)
    return project


def log_whole_pages(project: Project) -> None:
    by_itself(project, "ALTER SYSTEM SET full_page_writes = on")
    by_itself(project, "SELECT pg_reload_conf()")


def by_itself(project: Project, statement: str) -> Spent:
    """A statement outside of a transaction."""
    with project.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as own, spending() as spent:
        own.execute(text(statement))
    return Spent(*spent(), 0)


def filled(project: Project, rows: int) -> Spent:
    """Rows by COPY, then the index."""
    table = project.table("visit")
    with spending() as spent:
        for index in table.indexes:
            index.drop(project.engine)
        copied(project, table, rows)
        for index in table.indexes:
            index.create(project.engine)
        by_itself(project, "VACUUM ANALYZE visit")
    return Spent(*spent(), 0)


def copied(project: Project, table: Table, rows: int) -> None:
    field = project.fields(table)["note"]
    connection = project.engine.raw_connection()
    driver: Any = connection.driver_connection
    statement = "COPY visit (id, person, spending, note, note_bidx_a) FROM STDIN (FORMAT BINARY)"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(["int8", "int8", "int8", "bytea", "bytea"])
        for start in range(0, rows, CHUNK):
            numbers = range(start, min(rows, start + CHUNK))
            values = [os.urandom(16).hex() for _ in numbers]
            persons = [at // ROWS_A_PERSON for at in numbers]
            sealed = field.seal_many(values, [{"person": person} for person in persons])
            terms = field.terms_by_column(values)["note_bidx_a"]
            for at, person, value, term in zip(numbers, persons, sealed, terms, strict=True):
                copy.write_row((at, person, at % 1000, value, term))
    connection.commit()
    connection.close()


def in_a_process(words: Sequence[str]) -> Spent:
    """A command, in a new process that has nothing of this one."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(command, words).result()


def command(words: Sequence[str]) -> Spent:
    from vault.cli.app import app

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said), spending() as spent:
        status = app(list(words), standalone_mode=False)
    if status:
        raise RuntimeError(f"noisevault {words[0]} ended with {status}: {said.getvalue()[-500:]}")
    return Spent(*spent(), peak_mib())


@contextmanager
def spending() -> Iterator[Callable[[], tuple[float, float]]]:
    """Give what tells afterwards the seconds by the wall clock, and those that this process and its children worked."""
    began, worked = perf_counter(), sum(os.times()[:4])
    found: list[float] = []
    yield lambda: (found[0], found[1])
    found += [perf_counter() - began, sum(os.times()[:4]) - worked]


def peak_mib() -> int:
    """The most memory that this process or a child had. Its own ru_maxrss would begin with what the parent had."""
    status = Path("/proc/self/status").read_text()
    own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024
