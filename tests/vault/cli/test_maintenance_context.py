"""What looks take: how long work takes, by what was recorded."""

from datetime import timedelta
from pathlib import Path

from tests.vault.cli.maintained import context_of, filled_project
from vault.cli.maintenance_context import SHORT
from vault.maintenance.step import Outcome, Result, Step


def test_an_estimate_follows_the_rate_of_the_last_run(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    context = context_of(project)
    assert context.seconds(Step.REENCRYPT, "visit", 20_000) == SHORT + 10
    context.records.note(
        Step.REENCRYPT, "visit", Result(Outcome.DONE, "", 1000), context.records.now() - timedelta(seconds=100)
    )
    assert 0.9 * 2000 < context.seconds(Step.REENCRYPT, "visit", 20_000) - SHORT <= 2001
    assert context.rows(project.table("visit")) == 5
    assert [table.name for table in context.tables] == ["visit"]
    project.close()
