"""Rotation and rewrapping: due by the policy, done once."""

import threading
from datetime import timedelta
from pathlib import Path

from kms import Purpose
from tests.kms.rested import let_time_pass
from tests.vault.cli.maintained import context_of, filled_project
from vault.cli.due_keys import due_rewrapping, due_rotation
from vault.maintenance.step import Outcome


def test_a_key_is_rotated_at_its_age_and_by_two_machines_once(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    context = context_of(project, rotate_after=timedelta(days=90))
    assert due_rotation(context) == []
    let_time_pass(project.opened.key_store.engine, timedelta(days=91))
    assert due_rotation(context_of(project)) == [], "without rotate_after no age is too high"
    (one,), (other,) = due_rotation(context), due_rotation(context)
    assert [task.run(threading.Event()).outcome for task in (one, other)] == [Outcome.DONE] * 2
    assert len(project.opened.keyring.records(Purpose.DATA)) == 2
    assert due_rotation(context) == []
    project.close()


def test_a_key_is_rotated_by_its_seals(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    (task,) = due_rotation(context_of(project, rotate_seals=1))
    assert "values of visit" in task.why
    project.close()


def test_a_local_key_has_one_version_so_that_no_key_is_wrapped_anew(tmp_path: Path) -> None:
    project = filled_project(tmp_path)
    assert due_rewrapping(context_of(project)) == []
    assert due_rewrapping(context_of(project, rewrap=False)) == []
    project.close()
