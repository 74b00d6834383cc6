"""A project on a server, with keys beside it, that worker processes can open by themselves; and rows to re-encrypt."""

from contextlib import closing
from pathlib import Path

from sqlalchemy import insert, select

from kms import Purpose
from tests.sizes import sized
from tests.vault.projects import make_project, visit
from vault.budgets import declare_budgets
from vault.cli.recipes import CommandPlace, ReencryptRecipe
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.pace import PaceSettings
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.workers.shared_pass import SharedPass
from vault.jobs.workers.workers import Workers
from vault.opened_ledger import open_ledger
from vault.project import Project
from vault.rows.raw_table import raw_table

SETTINGS = JobSettings(PaceSettings(most_rows=100), beat=0.1, silence=1.0)
ROWS = sized(500, 2_000)
SECRET = "asthma of a secret kind"


def project_of(folder: Path, url: str, rows: int = ROWS) -> Project:
    """Its rows are sealed under a key that is not the active one any more."""
    project = make_project(folder, url)
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        declare_budgets(ledger, project.policy)
    with project.engine.begin() as connection:
        connection.execute(insert(project.tables["visit"]), [visit(at, diagnosis=SECRET) for at in range(rows)])
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    return project


def recipe_of(folder: Path) -> ReencryptRecipe:
    return ReencryptRecipe(CommandPlace.of(folder / "noisevault.toml", None), "visit")


def job_of(project: Project, folder: Path, workers: Workers, settings: JobSettings = SETTINGS, **others: object) -> Job:
    shared = SharedPass(recipe_of(folder), workers, parts_a_worker=4, least_rows=50)
    work = Reencrypt.of(project.tables["visit"], project.opened)
    return Job(work, project.engine, settings, shared=shared, **others)  # type: ignore[arg-type]


def key_ids(project: Project) -> set[str]:
    """That the rows of the table are sealed by."""
    raw = raw_table(project.tables["visit"])
    with project.engine.connect() as connection:
        return {bytes(value)[2:6].hex() for value in connection.scalars(select(raw.c.diagnosis))}
