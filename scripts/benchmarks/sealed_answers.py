"""The sum of a sealed column on PostgreSQL, with noise, against another library's type, read by Core and added up.

The whole is measured: the charge, the rows read and opened, bounded by person, added up, noise, and the answer stored.
What the database takes of it, and the database with opening, are measured beside it; the rest is bounding and release.
Two processes that share the reading, as with `noisevault ask --workers 2`, are there already when they are measured.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from sqlalchemy import Column, Engine, Float, Integer, MetaData, Table, select, text
from sqlalchemy_utils.types.encrypted.encrypted_type import AesGcmEngine

import dp
from dp.ledger import Ledger
from kms import ProviderSettings
from kms.providers.local import create_key_file
from scripts.benchmarks.column_type import KEY, Encrypted
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.postgres_server import postgres_server
from scripts.benchmarks.server_seconds import server_seconds
from vault.bridge import answer, scan_of
from vault.budgets import declare_budgets
from vault.cli.recipes import CommandPlace
from vault.jobs.workers.process_pool import ProcessPool
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project
from vault.question import parse
from vault.rows.column_pages import column_pages
from vault.shared_scan import SharedScan

__all__ = ["comparisons"]

# A million takes ten times as long, most of it for the other library.
ROWS = 100_000
ROUNDS = 3
AT_ONCE = 10_000
ROWS_A_PERSON = 2
POLICY = """
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
spending = {{ type = "float", sealed = true }}

[dataset.visits]
table = "visit"
unit = "person"
rows_per_unit = 2
lifetime_epsilon = "100000"
bounds.spending = {{ lower = 0, upper = 100, step = "0.01" }}
"""
THEIRS, WHOLE = "sqlalchemy-utils, AesGcmEngine: Core and sum", "sealed column to DP answer"
TWO = "the same, read by two processes"
OPENED, READ = "of it, database and opening", "of it, the database alone"
QUESTION = parse("sum(spending)")

theirs = Table(
    "theirs",
    MetaData(),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("spending", Encrypted(Float, KEY, AesGcmEngine)),
)


class Ways:
    """The same values sealed in two tables, and the ways of adding them up."""

    def __init__(self, project: Project, ledger: Ledger, rows: int) -> None:
        self._project, self._ledger, self._rows = project, ledger, rows
        theirs.create(project.engine)
        values = np.random.default_rng(1).uniform(-10, 110, rows).round(2).tolist()
        for begin in range(0, rows, AT_ONCE):
            some = [
                {"id": at, "person": at // ROWS_A_PERSON, "spending": values[at]}
                for at in range(begin, min(rows, begin + AT_ONCE))
            ]
            with project.engine.begin() as connection:
                connection.execute(project.tables["visit"].insert(), some)
                connection.execute(theirs.insert(), [{"id": row["id"], "spending": row["spending"]} for row in some])
        with project.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as own:
            own.execute(text("VACUUM ANALYZE"))

    def prepare(self) -> None:
        """Else the answer that was released before would be given, and no row be read."""
        self._ledger.advance_epoch("visits", "the next round")

    def whole(self, shared: SharedScan | None = None) -> None:
        price = dp.Price.pure(10**9)
        answer(self._project, self._ledger, "visits", QUESTION, price=price, who="bench", shared=shared)

    def opened(self) -> None:
        live = self._project.opened.keyring.warm()
        self._require(sum(len(batch) for batch in scan_of(self._project, "visits", QUESTION, live).batches()))

    def read(self) -> None:
        scan = scan_of(self._project, "visits", QUESTION, self._project.opened.keyring.warm())
        _, _, statement = scan._statement()
        with self._project.engine.connect() as connection:
            pages = column_pages(connection, statement, scan.rows_a_batch)
            self._require(sum(len(page[0]) for page in pages))

    def others(self) -> None:
        with self._project.engine.connect() as connection:
            values = connection.scalars(select(theirs.c.spending)).all()
        self._require(len(values))
        sum(values)

    def _require(self, found: int) -> None:
        if found != self._rows:
            raise RuntimeError(f"{found} of {self._rows} rows were read")


def comparisons(rows: int = ROWS) -> Iterator[Comparison]:
    """rows: of each table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        postgres_server() as url,
        closing(made(Path(folder), url)) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
    ):
        declare_budgets(ledger, project.policy)
        ways = Ways(project, ledger, rows)
        with ProcessPool(2) as pool:
            shared = SharedScan(pool, CommandPlace.of(Path(folder) / "noisevault.toml", None))
            by_two: dict[str, Callable[[], object]] = {THEIRS: ways.others, TWO: lambda: ways.whole(shared)}
            ways.prepare()
            ways.whole(shared)
            yield Comparison(
                f"{rows:,} rows, a row", by_two, rows, ROUNDS, ways.prepare, collecting=True, clock=perf_counter
            )
        whole: dict[str, Callable[[], object]] = {THEIRS: ways.others, WHOLE: ways.whole}
        shares: dict[str, Callable[[], object]] = {WHOLE: ways.whole, OPENED: ways.opened, READ: ways.read}
        for name, variants in ((f"{rows:,} rows, a row", whole), (f"its shares, {rows:,} rows, a row", shares)):
            yield Comparison(
                name,
                variants,
                rows,
                ROUNDS,
                ways.prepare,
                collecting=True,
                clock=perf_counter,
                processor=processor_seconds(project.engine),
            )


def processor_seconds(engine: Engine) -> Callable[[], float]:
    """What this process and the server have worked."""
    server = server_seconds(engine)
    return lambda: process_time() + server()


def made(folder: Path, url: str) -> Project:
    path = folder / "noisevault.toml"
    path.write_text(POLICY.format(url=url), encoding="utf-8")
    create_key_file(folder / "kek")
    return Project.create(Policy.load(path), ProviderSettings())
