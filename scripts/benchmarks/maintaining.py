"""`noisevault maintain` on a table of a million rows on PostgreSQL: the first run, and those that find nothing due.

Each is a command as cron starts it, its imports included.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from scripts.benchmarks.postgres_server import postgres_server
from scripts.benchmarks.scale import Measuring, Spent, filled, made, spending
from scripts.benchmarks.server_seconds import server_seconds
from scripts.benchmarks.worked import Worked, Works

__all__ = ["comparisons"]

ROWS: Final = 1_000_000
RUNS: Final = 5
COMMAND: Final = (sys.executable, "-c", "from vault.cli.app import main; main()", "maintain", "--policy")


def comparisons(rows: int = ROWS) -> Iterator[Works]:
    yield Works(partial(on_a_table, rows))


def on_a_table(rows: int) -> Iterator[Worked]:
    with tempfile.TemporaryDirectory() as name, postgres_server() as url, closing(made(Path(name), url)) as project:
        measuring = Measuring(project, rows, server_seconds(project.engine))
        yield measuring.of("load, COPY", lambda: filled(project, rows))
        for work in ("maintain, the first run", *("maintain, nothing due",) * RUNS):
            yield measuring.of(work, partial(maintained, Path(name)))


def maintained(folder: Path) -> Spent:
    with spending() as spent:
        subprocess.run([*COMMAND, str(folder / "noisevault.toml")], check=True, stdout=subprocess.DEVNULL)
    return Spent(*spent(), 0)
