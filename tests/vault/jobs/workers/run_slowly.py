"""A program that re-encrypts the project in a folder by a pool of two, slowly, for a test that kills it."""

import sys
from dataclasses import replace
from pathlib import Path

from tests.vault.jobs.workers.crew_project import ROWS, SETTINGS, job_of
from vault.cli.options import open_project
from vault.jobs.pace import PaceSettings
from vault.jobs.workers.process_pool import ProcessPool

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    settings = replace(SETTINGS, pace=PaceSettings(most_rows=20, rows_per_second=ROWS // 8))
    with open_project(folder / "noisevault.toml") as project, ProcessPool(2) as pool:
        job_of(project, folder, pool, settings).run()
