"""Epochs by schedule: as old as the log says, advanced once, and nothing where the policy has no schedule."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dp.ledger import Ledger
from kms import ProviderSettings
from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import due, told
from tests.vault.projects import make_project
from vault.budgets import declare_budgets
from vault.cli.due_epochs import due_epochs
from vault.cli.maintenance_context import MaintenanceContext, maintenance_records
from vault.errors import PolicyError
from vault.ledger_keys import LedgerAuditMacs, LedgerSealer, question_mac
from vault.maintenance.step import Outcome
from vault.opened_ledger import ledger_engine, open_ledger
from vault.policy import Policy
from vault.project import Project

DAY = 86_400


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = make_project(tmp_path)
    yield made
    made.close()


def ledger_at(project: Project, seconds: float) -> Ledger:
    """The project's ledger, so many seconds from now."""
    keyring = project.opened.keyring
    return Ledger(
        ledger_engine(project.policy.ledger_url),
        audit=LedgerAuditMacs(keyring),
        question=question_mac(keyring),
        sealer=LedgerSealer(keyring),
        now=lambda: time.time_ns() // 1000 + round(seconds * 1_000_000),
    )


def context(project: Project, every: timedelta | None) -> MaintenanceContext:
    rules = project.policy.dataset["visits"].model_copy(update={"new_answers_every": every})
    policy = project.policy.model_copy(update={"dataset": {"visits": rules}})
    changed = Project(policy, project.engine, project.tables, project.opened)
    return MaintenanceContext(changed, maintenance_records(changed), lambda _: None)


def test_answers_are_new_when_they_are_as_old_as_the_policy_lets_them_be(project: Project) -> None:
    declare_budgets(ledger_at(project, -90 * DAY), project.policy)
    assert due_epochs(context(project, timedelta(days=91))) == []
    (task,) = due_epochs(context(project, timedelta(days=90)))
    assert task.scope == "visits"
    assert task.run(threading.Event()).outcome is Outcome.DONE
    ledger = open_ledger(project.policy, project.opened.keyring)
    assert ledger.status("visits").epoch == 2
    assert due_epochs(context(project, timedelta(hours=1))) == []
    ledger.close()


def test_it_counts_from_the_last_epoch_and_not_from_a_change_of_the_budget(project: Project) -> None:
    declare_budgets(ledger_at(project, -90 * DAY), project.policy)
    ledger_at(project, -5 * DAY).advance_epoch("visits", "load of May")
    ledger_at(project, -1 * DAY).declare("visits", 2 * 10**9, reason="a test", accept=True)
    assert due_epochs(context(project, timedelta(days=6))) == []
    (task,) = due_epochs(context(project, timedelta(days=4)))
    assert "its answers are those of 20" in task.why


def test_who_comes_second_advances_nothing(project: Project) -> None:
    declare_budgets(ledger_at(project, -90 * DAY), project.policy)
    (first,), (second,) = (due_epochs(context(project, timedelta(days=1))) for _ in range(2))
    assert first.run(threading.Event()).outcome is second.run(threading.Event()).outcome is Outcome.DONE
    assert ledger_at(project, 0).status("visits").epoch == 2


def test_without_a_schedule_the_ledger_is_not_asked(project: Project) -> None:
    assert due_epochs(context(project, None)) == []
    with pytest.raises(PolicyError, match="ledger tables"):
        due_epochs(context(project, timedelta(days=1)))


def test_maintain_advances_the_epoch_once_and_questions_are_answered_anew(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text() + 'new_answers_every = "1h"\n')
    assert "epoch" not in due(loaded)
    opened = closing(Project.open(Policy.load(path), ProviderSettings()))
    with opened as project, closing(ledger_at(project, -2 * 3600)) as before:
        before.advance_epoch("visits", "load of May")
    loaded("ask", "count(*)", "--epsilon", "0.1")
    assert "epoch" in due(loaded)
    assert ("epoch", "done") in told(loaded)
    assert told(loaded) == [("", "nothing")]
    loaded("ask", "count(*)", "--epsilon", "0.1")
    said = json.loads(loaded("budget", "--json").out)
    assert (said["epoch"], said["spent"]) == (3, "0.2")
