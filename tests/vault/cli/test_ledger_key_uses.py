"""Entries, questions and answers are counted by the key that signed or sealed them."""

from pathlib import Path

import dp
from kms import Purpose
from tests.vault.projects import make_project
from vault.bridge import answer
from vault.budgets import declare_budgets
from vault.cli.ledger_key_uses import ledger_uses
from vault.opened_ledger import ledger_engine, open_ledger
from vault.question import parse
from vault.rows.key_uses import KeyUse


def test_each_key_has_what_it_signed_and_sealed(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    keyring = project.opened.keyring
    ledger = open_ledger(project.policy, keyring)
    declare_budgets(ledger, project.policy)
    first = keyring.sealing(Purpose.LEDGER).key.key_id
    second = keyring.lifecycle.rotate(Purpose.LEDGER).key_id
    answer(project, ledger, "visits", parse("count(*)"), price=dp.Price.pure(10**8), who="ann")
    engine = ledger_engine(project.policy.ledger_url)
    assert ledger_uses(engine, first) == [KeyUse(1, "entries", "noisevault_audit")]
    assert ledger_uses(engine, second) == [
        KeyUse(2, "entries", "noisevault_audit"),
        KeyUse(1, "questions", "noisevault_charge"),
        KeyUse(1, "answers", "noisevault_answer"),
    ]
    assert ledger_uses(engine, b"zzzz") == []
