"""audit show: what is asked for, and nothing else."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.vault.cli.conftest import Run
from tests.vault.cli.test_audit_verifying import changed
from vault.cli.audit_showing import parse_moment, what


@pytest.fixture
def asked(loaded: Run) -> Run:
    for who, epsilon in (("ann", "0.1"), ("bob", "0.2")):
        assert loaded("ask", "count()", "--epsilon", epsilon, "--who", who).status == 0
    assert loaded("ask", "count()", "--epsilon", "5", "--who", "bob").status == 1
    return loaded


def shown(run: Run, *words: str) -> list[dict[str, Any]]:
    ended = run("audit", "show", "--json", *words)
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_entries_are_chosen_by_kind_dataset_and_principal(asked: Run) -> None:
    everything = shown(asked)
    assert [one["sequence"] for one in everything] == list(range(1, len(everything) + 1))
    assert [one["principal"] for one in shown(asked, "--kind", "charge")] == ["ann", "bob"]
    assert [one["kind"] for one in shown(asked, "--principal", "bob")] == ["charge", "answer", "refusal"]
    assert [one["kind"] for one in shown(asked, "--principal", "bob", "--limit", "1")] == ["refusal"]
    assert shown(asked, "--dataset", "none") == []
    assert "visits" in {one.get("dataset") for one in shown(asked, "--dataset", "visits")}


def test_entries_are_chosen_by_time(asked: Run) -> None:
    assert shown(asked, "--since", "2001-01-01", "--until", "2001-01-02T00:00") == []
    assert shown(asked, "--since", "2001-01-01", "--until", "2999-01-01") == shown(asked)


def test_a_person_reads_who_asked_what_for_how_much(asked: Run) -> None:
    told = asked("audit", "show").out
    (charge,) = [line for line in told.splitlines() if "charge" in line and "bob" in line and "refusal" not in line][:1]
    assert "visits" in charge
    assert "epsilon 0.2" in charge
    assert "reason budget exhausted" in told


def test_where_nothing_is_meant_that_is_said(asked: Run) -> None:
    ended = asked("audit", "show", "--kind", "charges")
    assert (ended.status, ended.out) == (0, "no entry of the log is of that kind, dataset, principal and time\n")
    assert asked("audit", "show", "--kind", "charges", "--json").out == ""


def test_a_change_of_budgets_is_told_as_a_policy_says_it_with_its_reason(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    lifetime = 'lifetime_epsilon = "1"'
    path.write_text(path.read_text().replace(lifetime, f'{lifetime}\nbudget = {{ day = "0.6" }}\nmost_epsilon = "0.5"'))
    reason = "asked for by the \x1b[31mcouncil\x1b[0m\nof " + "x" * 150
    assert loaded("budget", "apply", "--reason", reason).status == 0
    told = " ".join(loaded("audit", "show", "--kind", "policy").out.split())
    assert (
        "lifetime epsilon 1, before epsilon 1; all questions: 0.6 a day; a question costs at most 0.5; reason: asked"
        in told
    )
    assert r"\x1b[31mcouncil\x1b[0m\nof" in told
    assert told.count("x") >= 150, "nothing is cut off"
    assert shown(loaded, "--kind", "policy")[-1]["reason"] == reason


def test_an_entry_that_was_changed_is_not_shown(asked: Run, tmp_path: Path) -> None:
    changed(tmp_path, "UPDATE noisevault_audit SET entry = '{}' WHERE sequence = 2")
    ended = asked("audit", "show")
    assert (ended.status, ended.out) == (1, "")
    assert "audit entry 2 was changed" in ended.err


def test_a_moment_is_read_as_utc() -> None:
    assert parse_moment("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert parse_moment("2026-01-31T12:30") == datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
    for wrong in ("", "yesterday", "2026-02-30", "2026-01-31+02:00", "20260131"):
        with pytest.raises(typer.BadParameter):
            parse_moment(wrong)


def test_a_price_without_epsilon_is_told_in_rho() -> None:
    entry = {"nano_epsilon": 0, "nano_rho": 10**7, "atto_delta": 0, "unbounded": 1, "attempt": 1}
    assert what(entry) == "rho 0.01, attempt 1"
    assert what({"kind": "event", "what": "job begun", "fields": {"rows": 5}}) == "what job begun, rows 5"


def test_every_entry_of_a_ledger_that_has_all_kinds_can_be_read(asked: Run) -> None:
    assert asked("budget", "epoch", "visits", "--reason", "new visits").status == 0
    ended = asked("audit", "show", "--limit", "500")
    assert (ended.status, ended.err) == (0, "")
    assert {"policy", "charge", "answer", "refusal", "epoch", "event"} <= set(ended.out.split())


def test_what_was_declared_is_told_as_a_policy_writes_it() -> None:
    scopes = [["dataset", "", "day", 5 * 10**8]]
    said = what({"kind": "policy", "lifetime_nano_epsilon": 3 * 10**9, "scopes": scopes, "members": [], "reason": "x"})
    assert said == "lifetime epsilon 3; all questions: 0.5 a day; reason: x"
