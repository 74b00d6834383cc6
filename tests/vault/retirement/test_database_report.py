"""What is told of each database and key: counted now here, when it was last counted elsewhere, or never."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kms.key_record import KeyRecord, KeyState, Purpose
from kms.provider import Wrapped
from vault.databases.database_register import RegisteredDatabase
from vault.retirement.clearances import Scan
from vault.retirement.database_report import database_rows
from vault.rows.key_uses import KeyUse

T = datetime(2026, 1, 1, tzinfo=UTC)
WHEN = "2026-01-01T00:00:00+00:00"
KEY = KeyRecord(bytes(16), Purpose.DATA, b"\x01" * 4, 1, KeyState.DEACTIVATED, Wrapped(b"w", "local:kek", "1"), T, T)
GONE = replace(KEY, key_id=b"\x02" * 4, state=KeyState.DESTROYED, wrapped=None)
HERE, THERE, NEVER = (RegisteredDatabase(digit * 64, f"place {digit}", "", T, T, None) for digit in "abc")


def rows(found: int) -> list[dict[str, Any]]:
    scans = {(one.digest, KEY.key_id): Scan(one.digest, KEY.key_id, T, 2, T) for one in (HERE, THERE)}
    now = {KEY.key_id: [KeyUse(found, "values", "visit.diagnosis")] if found else []}
    told = database_rows([HERE, THERE, NEVER], [KEY, GONE], scans, HERE.digest, now)
    assert [len(one["keys"]) for one in told] == [1, 1, 1], "a destroyed key needs nothing"
    return [one["keys"][0] for one in told]


def test_here_it_is_what_was_counted_now() -> None:
    here, _, _ = rows(3)
    assert (here["uses"], here["where"], here["counted_at"]) == (3, ["3 values of visit.diagnosis"], "now")
    assert here["cleared_at"] == "", "which it is no more"
    here, _, _ = rows(0)
    assert (here["uses"], here["cleared_at"]) == (0, WHEN)


def test_elsewhere_it_is_the_last_scan_or_nothing() -> None:
    _, there, never = rows(0)
    assert (there["uses"], there["counted_at"], there["cleared_at"]) == (2, WHEN, WHEN)
    assert (never["uses"], never["counted_at"]) == (None, "")
