"""Re-encrypt a table on PostgreSQL by one process, by two, and by a Dask cluster of two workers that speak TLS.

Each way does the whole job, its proof included. The workers are there already, as those of a cluster are; what it takes
to begin a pool is told apart. Between two ways every key is rotated, so that all rows are due again.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter

from sqlalchemy import text

from kms import ProviderSettings, Purpose
from kms.providers.local import create_key_file
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.dask_pair import dask_pair
from scripts.benchmarks.postgres_server import postgres_server
from vault.budgets import declare_budgets
from vault.cli.recipes import CommandPlace, ReencryptRecipe
from vault.jobs.collector import rare_collections
from vault.jobs.engine import Job
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.workers.dask_cluster import DaskCluster
from vault.jobs.workers.process_pool import ProcessPool
from vault.jobs.workers.shared_pass import SharedPass
from vault.jobs.workers.workers import Workers
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project

__all__ = ["comparisons"]

ROWS = 1_000_000
ROUNDS = 3
AT_ONCE = 50_000
POLICY = """
[vault]
database = "{url}"
keys = "sqlite:///keys.db"
ledger = "sqlite:///ledger.db"
kek = "local:kek"

[table.large]
key = ["id"]
[table.large.column]
id = {{ type = "int" }}
note = {{ type = "str", sealed = true }}
site = {{ type = "int" }}
"""
ONE, TWO, FRESH, DASK = "one process", "two processes", "two processes, begun for it", "a Dask pair, TLS"


class Ways:
    """One table, and who re-encrypts it."""

    def __init__(self, project: Project, folder: Path, rows: int) -> None:
        self._project, self._rows = project, rows
        self._recipe = ReencryptRecipe(CommandPlace.of(folder / "noisevault.toml", None), "large")
        table = project.tables["large"]
        for begin in range(0, rows, AT_ONCE):
            some = [
                {"id": at, "note": os.urandom(16).hex(), "site": 1} for at in range(begin, min(rows, begin + AT_ONCE))
            ]
            with project.engine.begin() as connection:
                connection.execute(table.insert(), some)

    def prepare(self) -> None:
        """Every row due again, and the place of the old rows free."""
        self._project.opened.keyring.lifecycle.rotate(Purpose.DATA)
        with self._project.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))

    def by(self, workers: Workers | None) -> None:
        project = self._project
        shared = None if workers is None else SharedPass(self._recipe, workers)
        with rare_collections():
            tally = Job(Reencrypt.of(project.tables["large"], project.opened), project.engine, shared=shared).run()
        tally.require_complete()
        if tally.rewritten != self._rows:
            raise RuntimeError(f"{tally.rewritten} of {self._rows} rows were rewritten")

    def by_a_fresh_pool(self) -> None:
        with ProcessPool(2) as pool:
            self.by(pool)


def comparisons(rows: int = ROWS) -> Iterator[Comparison]:
    """rows: of the table."""
    with (
        tempfile.TemporaryDirectory() as name,
        postgres_server() as url,
        closing(made(Path(name), url)) as project,
        dask_pair(Path(name)) as (address, security),
        DaskCluster(address, security=security) as cluster,
        ProcessPool(2) as pool,
    ):
        ways = Ways(project, Path(name), rows)
        calls: dict[str, Callable[[], object]] = {
            ONE: lambda: ways.by(None),
            TWO: lambda: ways.by(pool),
            FRESH: ways.by_a_fresh_pool,
            DASK: lambda: ways.by(cluster),
        }
        title = f"re-encrypt {rows:,} rows, PostgreSQL, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        yield Comparison(title, calls, rows, ROUNDS, ways.prepare, collecting=True, clock=perf_counter)


def made(folder: Path, url: str) -> Project:
    path = folder / "noisevault.toml"
    path.write_text(POLICY.format(url=url), encoding="utf-8")
    create_key_file(folder / "kek")
    project = Project.create(Policy.load(path), ProviderSettings())
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        declare_budgets(ledger, project.policy)
    return project
