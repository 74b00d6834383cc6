"""Measures of keys: rows as they were counted, and counted again when they have moved."""

from pathlib import Path

from kms import Purpose
from tests.kms.rested import let_rest
from tests.vault.cli.maintained import context_of, filled_project
from tests.vault.cli.test_due_reencryption import reencrypt
from vault.cli.key_measures import count_rows, due_count, write_metrics
from vault.maintenance.run import MaintenanceRun
from vault.maintenance.step import Step
from vault.maintenance.window import Window


def test_rows_are_counted_once_a_day_and_when_they_have_moved(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    context = context_of(project)
    run = MaintenanceRun(context.records, Window(None, 0.0), lambda _: None)
    (done,) = run.run({Step.COUNT: lambda: due_count(context)})
    assert done.result.rows == 5
    assert due_count(context) == []
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    reencrypt(context)
    assert [task.step for task in due_count(context)] == [Step.COUNT]
    project.close()


def test_what_is_written_holds_no_value(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    context = context_of(project)
    write_metrics(context, tmp_path / "a.prom")
    assert "noisevault_key_rows{" not in (tmp_path / "a.prom").read_text()
    assert count_rows(context) == 5
    write_metrics(context, tmp_path / "a.prom")
    text = (tmp_path / "a.prom").read_text()
    active = project.opened.keyring.records(Purpose.DATA)[0].key_id.hex()
    assert f'noisevault_key_rows{{keyring="main",key_id="{active}",purpose="data"}} 5' in text
    assert not any(value in text for value in ("asthma", "99-0000", "9900001"))
    project.close()
