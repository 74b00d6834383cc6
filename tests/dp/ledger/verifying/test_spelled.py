"""An entry that its row spells is the one that parsing gives; of whatever else the answer is no."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from dp.ledger.answers import Claim
from dp.ledger.canonical_json import canonical
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.log.audit import FORMAT
from dp.ledger.store.schema import audit
from dp.ledger.verifying.recorded_kinds import KINDS
from dp.ledger.verifying.spelled import answer_is_spelled, scopes_of_spelled
from tests.dp.ledger.sealing import a_request

CHARGES, ANSWERS = KINDS[0], KINDS[1]
PREVIOUS, KEY = "ab" * 32, "00000001"
ANSWER = (3, "principal:ann", "people", 1, "cd" * 32, 1, "ef" * 16, b"sealed")
CHARGE = (2, "principal:ann", "people", 1, "cd" * 32, 1, "ann", 5, 6, 7, 0, "ef" * 16, None, 1234, b"sealed")
SCOPES = [["analyst", "ann", "day", 19, 5], ["dataset", "", "week", 2, 5]]


def an_answer(row: tuple[Any, ...] = ANSWER, **more: Any) -> str:
    names = ("sequence", "visibility", "dataset", "epoch", "question_mac", "attempt", "charge")
    said = {**dict(zip(names, row, strict=False)), "principal": "bob", "at": 99, "kind": "answer"}
    return _text(said, row[-1], more)


def a_charge(row: tuple[Any, ...] = CHARGE, **more: Any) -> str:
    names = ("sequence", "visibility", "dataset", "epoch", "question_mac", "attempt", "principal", "nano_epsilon")
    names = (*names, "nano_rho", "atto_delta", "unbounded", "charge", None, "at")
    said = {name: value for name, value in zip(names, row, strict=False) if name is not None}
    return _text({**said, "scopes": SCOPES, "kind": "charge"}, row[-1], more)


def _text(said: dict[str, Any], sealed: bytes, more: dict[str, Any]) -> str:
    signed = {"format": FORMAT, "key": KEY, "previous": PREVIOUS, "sealed_sha256": hashlib.sha256(sealed).hexdigest()}
    return canonical({**said, **signed, **more}).decode()


@pytest.mark.databases_in_turn
@pytest.mark.every_database
def test_what_is_written_is_spelled(ledger: Ledger, engine: Engine) -> None:
    scopes = (Scope("dataset", "", "day", 10**9), Scope("analyst", "ann", "ever", 10**9))
    ledger.declare("people", Budgets(10**9, scopes=scopes), reason="windows")
    claim = ledger.charge(a_request(1000))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    with engine.connect() as connection:
        log = {row.sequence: row for row in connection.execute(select(audit))}
        among = {"first": 1, "last": len(log)}
        (charged,) = (tuple(row) for row in connection.execute(CHARGES.rows, among))
        (answered,) = (tuple(row) for row in connection.execute(ANSWERS.rows, among))
    entry, before = log[charged[0]], log[charged[0] - 1].mac
    told = scopes_of_spelled(entry.entry, entry.key_id, before, charged)
    assert told == json.loads(entry.entry)["scopes"]
    assert told is not None
    assert len(told) == 2
    assert answer_is_spelled(log[answered[0]].entry, entry.key_id, log[answered[0] - 1].mac, answered)


def test_scopes_are_told_and_none_are_an_empty_list() -> None:
    assert scopes_of_spelled(a_charge(), KEY, PREVIOUS, CHARGE) == SCOPES
    assert scopes_of_spelled(a_charge(scopes=[]), KEY, PREVIOUS, CHARGE) == []


@pytest.mark.parametrize("column", range(len(CHARGE)))
@pytest.mark.parametrize("other", [9, "9", b"9", None, 1.0, 'a"b', "a\\b"])
def test_a_charge_with_another_column_is_not_spelled(column: int, other: object) -> None:
    row = (*CHARGE[:column], other, *CHARGE[column + 1 :])
    if row != CHARGE or type(other) is not type(CHARGE[column]):
        assert scopes_of_spelled(a_charge(), KEY, PREVIOUS, row) is None


@pytest.mark.parametrize("column", range(len(ANSWER)))
@pytest.mark.parametrize("other", [9, "9", b"9", None, 1.0, 'a"b', "a\\b"])
def test_an_answer_with_another_column_is_not_spelled(column: int, other: object) -> None:
    assert answer_is_spelled(an_answer(), KEY, PREVIOUS, ANSWER)
    row = (*ANSWER[:column], other, *ANSWER[column + 1 :])
    assert not answer_is_spelled(an_answer(), KEY, PREVIOUS, row)


@pytest.mark.parametrize(
    "more",
    [
        {"previous": "00" * 32},
        {"key": "00000002"},
        {"format": "another"},
        {"kind": "repeat"},
        {"sealed_sha256": "00" * 32},
        {"more": 1},
        {"at": -(1.5e9).__int__()},
        {"principal": 'a"b'},
    ],
)
def test_an_answer_whose_entry_says_more_or_another_thing_is_not_spelled(more: dict[str, Any]) -> None:
    assert not answer_is_spelled(an_answer(**more), KEY, PREVIOUS, ANSWER)


@pytest.mark.parametrize(
    "more", [{"previous": "00" * 32}, {"key": "00000002"}, {"kind": "answer"}, {"request": "r-1"}, {"scopes": None}]
)
def test_a_charge_whose_entry_says_more_or_another_thing_is_not_spelled(more: dict[str, Any]) -> None:
    assert scopes_of_spelled(a_charge(**more), KEY, PREVIOUS, CHARGE) is None


@pytest.mark.parametrize("change", [("{", ""), (" ", ""), ("ann", "anné")])
def test_other_bytes_are_not_spelled(change: tuple[str, str]) -> None:
    assert not answer_is_spelled(an_answer().replace(*change), KEY, PREVIOUS, ANSWER)
    assert scopes_of_spelled(a_charge().replace(*change), KEY, PREVIOUS, CHARGE) is None
    assert not answer_is_spelled(an_answer().encode(), KEY, PREVIOUS, ANSWER)


def test_a_row_cannot_swallow_what_its_entry_says_besides() -> None:
    """The bytes would be the same, but the row's charge another one than the entry's."""
    said = ('"charge":"' + ANSWER[6] + '"', '"charge":"x","dataset":"y"')
    text = an_answer().replace(*said)
    assert json.loads(text)["charge"] == "x"
    assert not answer_is_spelled(text, KEY, PREVIOUS, (*ANSWER[:6], 'x","dataset":"y', ANSWER[-1]))


NAMES = st.text('a",:\\é{}[]', max_size=6)


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_what_is_spelled_is_what_parsing_gives(said: tuple[str, ...], stored: tuple[str, ...]) -> None:
    for names in (said, stored):
        text = a_charge((2, names[0], names[1], *CHARGE[3:6], names[2], *CHARGE[7:]))
        for visibility, dataset, principal in (said, stored):
            row = (2, visibility, dataset, *CHARGE[3:6], principal, *CHARGE[7:])
            found = scopes_of_spelled(text, KEY, PREVIOUS, row)
            entry = json.loads(text)
            is_the_same = (entry["visibility"], entry["dataset"], entry["principal"]) == (
                visibility,
                dataset,
                principal,
            )
            assert found in ([None, SCOPES] if is_the_same else [None])
