"""What is compared of an entry and of its row begins with the number, and has all columns that the log knows."""

import hashlib

import pytest

from dp.ledger.verifying.recorded_kinds import KINDS, TABLES, Kind

# The mark is held against the log at the end; see recorded_rows.
NOT_COMPARED = {"noisevault_charge": {"unreleased_sequence"}}


@pytest.mark.parametrize("kind", KINDS, ids=[kind.table.name for kind in KINDS])
def test_every_column_of_a_table_is_read(kind: Kind) -> None:
    read = [column.name for column in kind.rows.selected_columns]
    assert read[0] == "audit_sequence"
    assert set(read) == {column.name for column in kind.table.c} - NOT_COMPARED.get(kind.table.name, set())
    assert len(read) == len(set(read))


def test_of_what_is_sealed_the_digest_is_compared() -> None:
    charge, answer, request, event = KINDS
    for kind in (charge, answer):
        for sealed in (b"sealed", memoryview(b"sealed"), "sealed"):
            assert kind.of_row((7, "x", sealed)) == (7, "x", hashlib.sha256(b"sealed").hexdigest())
    for kind in (request, event):
        assert kind.of_row((7, "x", b"seen")) == (7, "x", b"seen")


def test_a_request_is_held_against_what_became_of_it() -> None:
    place = {"visibility": "v", "dataset": "d", "epoch": 1, "question_mac": "m"}
    entry = {"sequence": 7, **place, "principal": "ann", "request": "r-1", "charge": "c"}
    of_entry = KINDS[2].of_entry
    assert of_entry({**entry, "kind": "charge"}) == (7, "v", "d", 1, "m", "ann", "r-1", "charge", "c", None)
    assert of_entry({**entry, "kind": "repeat"}) == (7, "v", "d", 1, "m", "ann", "r-1", "repeat", None, None)
    told = {**entry, "kind": "refusal", "reason": "stale epoch"}
    assert of_entry(told) == (7, "v", "d", 1, "m", "ann", "r-1", "refusal", None, "stale epoch")


def test_every_table_has_a_kind_of_entry_or_is_the_one_of_requests() -> None:
    assert {kind.table.name for kind in KINDS} - set(TABLES.values()) == {"noisevault_request"}
