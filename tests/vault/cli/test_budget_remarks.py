"""Where policy and ledger differ is told in one line each, and what to type, which then tells it no more."""

from pathlib import Path

from tests.vault.projects import make_project, write_policy
from vault.budgets import apply_budgets, declare_budgets
from vault.cli.budget_remarks import copies_told, differences_told
from vault.opened_ledger import open_ledger
from vault.policy import Policy

AGAIN = '\n[dataset.again]\ntable = "visit"\nunit = "person"\nrows_per_unit = 1\nlifetime_epsilon = "0.5"\n'


def test_differences_and_copies_are_told_a_line_each(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy, {"visits": "ab" * 32})
    assert list(differences_told(ledger, project.policy)) == list(copies_told(ledger, project.policy)) == []
    path = write_policy(tmp_path)
    path.write_text(path.read_text() + AGAIN)
    policy, sources = Policy.load(path), {"visits": "ab" * 32, "again": "ab" * 32}
    (line,) = differences_told(ledger, policy, sources)
    assert line.startswith("dataset.again: its budgets are not those of the ledger, which are the ones that hold; ")
    assert line.endswith('by: noisevault budget apply --reason "..."')
    assert len(list(apply_budgets(ledger, policy, sources, reason="a test"))) == 2
    assert list(differences_told(ledger, policy, sources)) == []
    assert [line.split(",")[0] for line in copies_told(ledger, policy)] == [
        "dataset.visits has the rows of again",
        "dataset.again has the rows of visits",
    ]
    ledger.close()
    project.close()
