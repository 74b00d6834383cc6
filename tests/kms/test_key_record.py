"""Key records are valid from birth and change state in one direction."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose
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
    ],
    ids=str,
)
def test_a_record_that_makes_no_sense_is_not_made(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"bytes|sequence"):
        replace(RECORD, **changes)


def test_states_go_one_way() -> None:
    ways = {(a, b) for a in KeyState for b in KeyState if a.may_become(b)}
    assert ways == {
        (KeyState.PRE_ACTIVE, KeyState.ACTIVE),
        (KeyState.PRE_ACTIVE, KeyState.DESTROYED),
        (KeyState.ACTIVE, KeyState.DEACTIVATED),
        (KeyState.DEACTIVATED, KeyState.DESTROYED),
    }


def test_a_record_knows_the_place_it_is_bound_to() -> None:
    assert RECORD.context == wrap_context(bytes(16), "data", b"\0\0\0\1", 1)
    assert RECORD.live
    assert not replace(RECORD, state=KeyState.DESTROYED, wrapped=None).live


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
