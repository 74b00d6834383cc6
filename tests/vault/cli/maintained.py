"""Projects that are maintained: a policy with a section [maintenance], and what a look finds due."""

import json
from pathlib import Path
from typing import Any

from tests.vault.cli.conftest import Run
from tests.vault.projects import make_project, visit
from vault.cli.maintenance_context import MaintenanceContext, maintenance_records
from vault.project import Project


def declare(folder: Path, *lines: str) -> None:
    """The section, in the place of one that was there."""
    path = folder / "noisevault.toml"
    text = path.read_text(encoding="utf-8").partition("\n[maintenance]")[0]
    path.write_text("\n".join([text.rstrip("\n"), "", "[maintenance]", *lines, ""]), encoding="utf-8")


def context_of(project: Project, **rules: object) -> MaintenanceContext:
    """With these rules in the place of the policy's."""
    maintenance = project.policy.maintenance.model_copy(update=rules)
    policy = project.policy.model_copy(update={"maintenance": maintenance})
    changed = Project(policy, project.engine, project.tables, project.opened)
    return MaintenanceContext(changed, maintenance_records(changed), lambda _: None)


def filled_project(folder: Path, rows: int = 5, database_url: str = "sqlite:///application.db") -> Project:
    project = make_project(folder, database_url)
    with project.engine.begin() as connection:
        connection.execute(project.table("visit").insert(), [visit(person) for person in range(rows)])
    return project


def told(run: Run, *words: str) -> list[tuple[str, str]]:
    """What `maintain` did: step and outcome."""
    lines = [json.loads(line) for line in run("maintain", "--json", *words).out.splitlines()]
    return [(one.get("step", ""), one["outcome"]) for one in lines if one["event"] == "maintenance"]


def due(run: Run) -> list[str]:
    lines: list[dict[str, Any]] = [json.loads(line) for line in run("maintain", "--dry-run", "--json").out.splitlines()]
    return [one["step"] for one in lines if one["event"] == "due"]
