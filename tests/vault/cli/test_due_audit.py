"""What maintenance does for the audit log: marks, and events that nobody told."""

from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.cli.maintained import declare, due, told
from tests.vault.cli.test_audit_events import whats
from tests.vault.cli.test_audit_recovering import charged
from tests.vault.cli.test_audit_verifying import changed
from vault.cli import due_audit


def test_charges_without_an_answer_are_marked_when_they_are_old(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path)
    charged(tmp_path)
    assert "recover" not in due(loaded)
    monkeypatch.setattr(due_audit, "OLD", due_audit.OLD * 0)
    assert "recover" in due(loaded)
    assert ("recover", "done") in told(loaded)
    assert "recover" not in due(loaded)
    assert loaded("audit", "verify").status == 0


def test_a_rotation_that_is_due_is_told_in_the_same_run(loaded: Run, tmp_path: Path) -> None:
    declare(tmp_path, 'rotate_after = "1d"', "rotate_seals = 1")
    before = whats(loaded)
    done = told(loaded)
    assert ("events", "done") in done
    assert done.index(("rotate", "done")) < done.index(("events", "done"))
    assert "key deactivated" in whats(loaded)[len(before) :]


def test_a_ledger_that_is_away_fails_its_steps_and_no_other(loaded: Run, tmp_path: Path) -> None:
    declare(tmp_path)
    changed(tmp_path, "UPDATE noisevault_schema SET version = 99")
    done = told(loaded)
    assert ("recover", "failed") in done
    assert ("events", "failed") in done
    assert ("verify", "done") in done
