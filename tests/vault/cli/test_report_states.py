"""Report states: keys with their rows as counted, keyrings beside, what is due, and whether the log is whole."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dp.errors import BudgetExhaustedError
from dp.ledger.limits.budgets import Budgets, Scope
from dp.price import Price
from dp.request import Request
from kms import Keyring, open_provider
from tests.vault.cli.maintained import context_of, filled_project
from vault.cli.key_measures import count_rows
from vault.cli.maintenance_context import MaintenanceContext
from vault.cli.report_states import report_of
from vault.maintenance.head_file import KeptHead, write_head_file
from vault.opened_ledger import open_ledger
from vault.project import Project
from vault.reporting.quarter import Quarter
from vault.reporting.report import Report

NOW = datetime.now(UTC)


def made(context: MaintenanceContext) -> Report:
    return report_of(context, Quarter.of(NOW), made_at=NOW, made_by="tests")


def declared(folder: Path) -> Project:
    project = filled_project(folder)
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        ledger.create_schema()
        ledger.declare("visits", 10**9)
    return project


def test_keys_have_their_rows_as_they_were_counted_last(tmp_path: Path) -> None:
    project = declared(tmp_path)
    context = context_of(project)
    assert {(key.rows, key.counted_at) for key in made(context).keys} == {(None, None)}
    count_rows(context)
    counted = {key.record.purpose.value: key for key in made(context).keys}
    assert {purpose: key.rows for purpose, key in counted.items()} == {"data": 5, "index": 5, "ledger": 0}
    assert counted["data"].counted_at is not None
    assert counted["data"].seals >= 5
    project.close()


def test_other_keyrings_are_counted_by_the_states_of_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = declared(tmp_path)
    assert made(context_of(project)).beside.keyrings == 0
    provider = open_provider("local:kek")
    with closing(Keyring.create(project.opened.key_store, provider, "another")):
        beside = made(context_of(project)).beside
    assert (beside.keyrings, set(beside.states)) == (1, {"active"})
    project.close()


def test_what_is_due_is_what_maintain_would_do(tmp_path: Path) -> None:
    project = declared(tmp_path)
    due = [(one.step, one.scope, one.fault) for one in made(context_of(project)).due]
    assert due == [("verify", "visit", False), ("events", "", False)]
    project.close()


def test_budgets_of_windows_and_columns_are_told_from_a_real_log(tmp_path: Path) -> None:
    project = declared(tmp_path)
    scopes = (Scope("column", "spending", "month", 8 * 10**8), Scope("analyst", "", "day", 3 * 10**8))
    price = Price.pure(10**8)
    request = Request("visits", 1, "ana", "count", price, columns=("site", "spending"))
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        ledger.declare("visits", Budgets(10**9, scopes=scopes), reason="windows")
        ledger.share_lifetime("all", 10**9, ["visits"])
        ledger.charge(request)
        with pytest.raises(BudgetExhaustedError):
            ledger.charge(replace(request, question_text="mean", price=Price.pure(3 * 10**8)))
    log = made(context_of(project)).log
    assert log is not None
    (visits,) = log.datasets
    assert [(one.kind, one.subject, one.span, one.cap_nano, one.nano_epsilon) for one in visits.scopes] == [
        ("analyst", "", "day", 3 * 10**8, 0),
        ("analyst", "ana", "day", None, 10**8),
        ("column", "spending", "month", 8 * 10**8, 10**8),
    ]
    assert visits.refusals == {"budget exhausted: the budget of a day of analyst 'ana'": 1}
    assert [(one.name, one.spent.nano_epsilon) for one in log.shared] == [("all", 10**8)]
    assert [(one.kind, one.reason) for one in log.changes[1:2]] == [("policy", "windows")]
    project.close()


def test_a_log_that_was_touched_has_a_fault_and_no_figures(tmp_path: Path) -> None:
    project = declared(tmp_path)
    report = made(context_of(project))
    assert report.audit is not None
    assert (report.audit.sequence, report.audit.fault) == (1, "")
    assert [one.dataset for one in report.log.datasets] == ["visits"] if report.log else False
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE noisevault_audit SET entry = replace(entry, '1000000000', '9000000000')")
    report = made(context_of(project))
    assert report.audit is not None
    assert "audit entry 1 was changed" in report.audit.fault
    assert (report.audit.sequence, report.audit.mac, report.log) == (0, "", None)
    project.close()


def test_a_ledger_behind_the_head_that_was_kept_is_not_verified(tmp_path: Path) -> None:
    project = declared(tmp_path)
    write_head_file(tmp_path / "head.json", KeptHead(5, "ab" * 32))
    report = made(context_of(project, audit_head=str(tmp_path / "head.json")))
    assert report.audit is not None
    assert "the checkpoint is entry 5" in report.audit.fault
    assert [(one.step, one.fault) for one in report.due if one.step == "audit-head"] == [("audit-head", True)]
    project.close()


def test_a_policy_without_datasets_has_no_ledger(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    policy = project.policy.model_copy(update={"dataset": {}})
    changed = Project(policy, project.engine, project.tables, project.opened)
    report = made(context_of(changed))
    assert (report.audit, report.log) == (None, None)
    project.close()
