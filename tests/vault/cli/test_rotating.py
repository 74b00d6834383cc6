"""rotate: by hand, by age and by use; what is refused and why."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from kms import KeyStore
from tests.kms.rested import let_time_pass
from tests.vault.cli.conftest import Run
from tests.vault.retirement.aged_clearances import age_clearances


def states(run: Run, purpose: str = "data") -> list[str]:
    return [key["state"] for key in json.loads(run("keys", "list", "--json").out) if key["purpose"] == purpose]


def pass_time(folder: Path, days: int) -> None:
    store = KeyStore.from_url(f"sqlite:///{folder / 'keys.db'}")
    let_time_pass(store.engine, timedelta(days=days))
    age_clearances(store.engine, timedelta(days=days))
    store.close()


def test_without_a_condition_it_rotates_by_hand(loaded: Run) -> None:
    done = loaded("rotate")
    assert done.status == 0
    assert "sequence 2" in done.out
    assert "noisevault reencrypt" in done.out
    assert states(loaded) == ["deactivated", "active"]


def test_what_is_said_of_services_is_said_by_the_sealing_lease_of_the_policy(loaded: Run, tmp_path: Path) -> None:
    assert "within 180 s; then" in loaded("rotate").out
    rules = tmp_path / "noisevault.toml"
    rules.write_text(rules.read_text(encoding="utf-8").replace("[vault]", "[vault]\nsealing_lease = 240"))
    assert "within 240 s; then" in loaded("rotate").out
    assert "no process seals ledger after 240 s" in loaded("keys", "deactivate", ledger_of(loaded)).out


def ledger_of(run: Run) -> str:
    return next(k["key_id"] for k in json.loads(run("keys", "list", "--json").out) if k["purpose"] == "ledger")


def test_nothing_that_is_due_is_said_and_is_no_failure(loaded: Run) -> None:
    done = loaded("rotate", "--if-older-than", "90d", "--if-more-than", "1000000000")
    assert (done.status, done.err) == (0, "")
    assert "nothing is due, nothing was changed" in done.out
    assert states(loaded) == ["active"]


@pytest.mark.parametrize(
    ("words", "reason"), [(("--if-older-than", "90d"), "91 days"), (("--if-more-than", "10"), "values of visit")]
)
def test_what_is_due_is_rotated_with_its_reason_once(
    loaded: Run, tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    pass_time(tmp_path, 91)
    done = loaded("rotate", *words)
    assert (done.status, reason in done.out) == (0, True)
    assert states(loaded) == ["deactivated", "active"]
    assert "nothing is due" in loaded("rotate", *words).out
    assert states(loaded) == ["deactivated", "active"]


def test_the_ledger_key_is_rotated_and_old_answers_stay(loaded: Run) -> None:
    first = loaded("ask", "count(*)", "--epsilon", "0.1", "--json").out
    assert "signed and sealed by it" in loaded("rotate", "--purpose", "ledger").out
    assert states(loaded, "ledger") == ["deactivated", "active"]
    assert loaded("ask", "count(*)", "--epsilon", "0.1", "--json").out == first
    assert loaded("check").status == 0


def test_the_index_key_is_rotated_and_each_index_keeps_its_own_until_it_is_moved(loaded: Run) -> None:
    done = loaded("rotate", "--purpose", "index")
    assert (done.status, "noisevault reindex --all" in done.out) == (0, True)
    assert states(loaded, "index") == ["deactivated", "active"]
    assert "asthma" in loaded("find", "national_id", "111").out


@pytest.mark.parametrize("words", [("--if-older-than", "90"), ("--if-more-than", "-1"), ("--purpose", "fun")])
def test_words_that_are_off_have_status_2(loaded: Run, words: tuple[str, ...]) -> None:
    assert loaded("rotate", *words).status == 2
    assert states(loaded) == ["active"]
