"""Which keys something names, and whether they live."""

from datetime import UTC, datetime

from kms import KeyRecord, KeyringState, KeyState, Purpose, Wrapped
from vault.restoration.needed_keys import UNKNOWN, needed_keys
from vault.rows.header_counts import ColumnCounts, Made, TableCounts
from vault.rows.key_uses import KeyUse

NOW = datetime(2026, 11, 30, tzinfo=UTC)
KEYRING = b"\1" * 16


def record(number: int, state: KeyState, purpose: Purpose = Purpose.DATA) -> KeyRecord:
    wrapped = None if state is KeyState.DESTROYED else Wrapped(b"wrapped", "local:kek", "1")
    until = NOW if state is KeyState.RETIRED else None
    return KeyRecord(KEYRING, purpose, bytes([number] * 4), number, state, wrapped, NOW, NOW, until)


def test_each_key_that_is_named_is_given_once_with_its_uses_the_living_first() -> None:
    records = (record(1, KeyState.DESTROYED), record(2, KeyState.RETIRED), record(3, KeyState.ACTIVE))
    column = ColumnCounts("mail", "values")
    for number, count in ((1, 5), (2, 6), (3, 7), (9, 8)):
        column.made[Made(bytes([number] * 4), 0)] = count
    table = TableCounts("visit", 26, [column], column.by_key())
    ledger = {bytes([8] * 4): [KeyUse(4, "entries", "noisevault_audit")]}
    needs = needed_keys([table], ledger, [KeyringState(KEYRING, "main", records)])
    assert [(need.key_id[0], need.state, need.lives, need.values) for need in needs] == [
        (3, "active", True, 7), (1, "destroyed", False, 5), (2, "retired", False, 6),
        (8, UNKNOWN, False, 0), (9, UNKNOWN, False, 8),
    ]  # fmt: skip
    assert [need.rows for need in needs] == [7, 5, 6, 0, 8]


def test_a_key_that_nothing_names_is_not_needed() -> None:
    assert needed_keys([], {}, [KeyringState(KEYRING, "main", (record(1, KeyState.ACTIVE),))]) == []
