"""Key records are valid from birth and change state in one direction."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose, ended_error
from kms.provider import Wrapped, wrap_context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RECORD = KeyRecord(bytes(16), Purpose.DATA, b"\0\0\0\1", 1, KeyState.ACTIVE, Wrapped(b"w", "local:0", "1"), NOW, NOW)


@pytest.mark.parametrize(
    "changes",
    [
        {"keyring_id": bytes(15)},
        {"key_id": bytes(4)},
        {"key_id": b"\1\2\3"},
        {"sequence": 0},
        {"wrapped": None},
        {"state": KeyState.DESTROYED},
        {"state": KeyState.RETIRED},
        {"destroy_after": NOW},
    ],
    ids=str,
)
def test_a_record_that_makes_no_sense_is_not_made(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"bytes|sequence|a retired key waits"):
        replace(RECORD, **changes)


def test_states_go_one_way_but_for_a_retired_key_that_is_restored() -> None:
    ways = {(a, b) for a in KeyState for b in KeyState if a.may_become(b)}
    assert ways == {
        (KeyState.PRE_ACTIVE, KeyState.ACTIVE),
        (KeyState.PRE_ACTIVE, KeyState.RETIRED),
        (KeyState.ACTIVE, KeyState.DEACTIVATED),
        (KeyState.DEACTIVATED, KeyState.RETIRED),
        (KeyState.RETIRED, KeyState.DEACTIVATED),
        (KeyState.RETIRED, KeyState.PRE_ACTIVE),
        (KeyState.RETIRED, KeyState.DESTROYED),
    }


def test_a_record_knows_the_place_it_is_bound_to() -> None:
    assert RECORD.context == wrap_context(bytes(16), "data", b"\0\0\0\1", 1)


def test_a_retired_key_is_kept_and_opens_nothing() -> None:
    retired = replace(RECORD, state=KeyState.RETIRED, destroy_after=NOW)
    destroyed = replace(RECORD, state=KeyState.DESTROYED, wrapped=None)
    assert [(record.live, record.kept) for record in (RECORD, retired, destroyed)] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    told = str(ended_error("main", replace(retired, destroy_after=NOW + timedelta(days=30))))
    assert "key 00000001 of keyring 'main' is retired since 2026-01-01 00:00 UTC" in told
    assert "destroyed from 2026-01-31 00:00 UTC on" in told
    assert told.endswith("noisevault keys restore 00000001")
    assert "destroyed" in str(ended_error("main", destroyed))


def test_a_state_finds_records_by_purpose_id_and_activity() -> None:
    old = replace(RECORD, state=KeyState.DEACTIVATED)
    new = replace(RECORD, key_id=b"\0\0\0\2", sequence=2)
    waiting = replace(RECORD, key_id=b"\0\0\0\3", sequence=3, state=KeyState.PRE_ACTIVE)
    other = replace(RECORD, key_id=b"\0\0\0\4", purpose=Purpose.INDEX)
    state = KeyringState(bytes(16), "main", (old, new, waiting, other))
    assert state.of(Purpose.DATA) == (old, new, waiting)
    assert state.active(Purpose.DATA) == new
    assert state.active(Purpose.LEDGER) is None
    assert state.find(b"\0\0\0\4") == other
    assert state.find(b"\0\0\0\5") is None


def test_an_older_key_does_not_seal_because_a_newer_one_is_no_longer_active() -> None:
    old = replace(RECORD, state=KeyState.ACTIVE)
    new = replace(RECORD, key_id=b"\0\0\0\2", sequence=2, state=KeyState.DEACTIVATED)
    tombstone = replace(new, state=KeyState.DESTROYED, wrapped=None)
    assert KeyringState(bytes(16), "main", (old, new)).active(Purpose.DATA) is None
    assert KeyringState(bytes(16), "main", (old, tombstone)).active(Purpose.DATA) == old
    retired = replace(new, state=KeyState.RETIRED, destroy_after=NOW)
    assert KeyringState(bytes(16), "main", (old, retired)).active(Purpose.DATA) == old


def test_the_lowest_waiting_key_is_next_if_it_is_above_all_that_are_past() -> None:
    low, high = (replace(RECORD, key_id=bytes([n] * 4), sequence=n, state=KeyState.PRE_ACTIVE) for n in (2, 4))
    past = replace(RECORD, key_id=b"\3\3\3\3", sequence=3)
    assert KeyringState(bytes(16), "main", (RECORD, low, high)).waiting(Purpose.DATA) == low
    state = KeyringState(bytes(16), "main", (RECORD, low, past, high))
    assert state.waiting(Purpose.DATA) == high
    assert state.newest_sequence(Purpose.DATA) == 3
    assert state.newest_sequence(Purpose.INDEX) == 0
    assert state.waiting(Purpose.INDEX) is None
