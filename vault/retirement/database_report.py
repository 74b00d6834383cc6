"""Database report: each database of a keyring, and what of it depends on each key that is not destroyed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kms.key_record import KeyRecord
from vault.databases.database_register import RegisteredDatabase
from vault.retirement.clearances import Scan
from vault.rows.key_uses import KeyUse

__all__ = ["database_rows"]


@dataclass(frozen=True, slots=True)
class _Counted:
    """Of one key: how much names it, where, and when that was counted."""

    found: int | None
    where: Sequence[str]
    at: str
    cleared_at: str


def database_rows(
    databases: Sequence[RegisteredDatabase],
    records: Sequence[KeyRecord],
    scans: Mapping[tuple[str, bytes], Scan],
    here: str,
    now: Mapping[bytes, Sequence[KeyUse]],
) -> list[dict[str, Any]]:
    """For programs. here: the digest of the database that was counted now, by key id in `now`; None: never counted."""
    return [_row(one, [record for record in records if record.kept], scans, here, now) for one in databases]


def _row(
    database: RegisteredDatabase,
    records: Sequence[KeyRecord],
    scans: Mapping[tuple[str, bytes], Scan],
    here: str,
    now: Mapping[bytes, Sequence[KeyUse]],
) -> dict[str, Any]:
    is_here = database.digest == here
    keys = []
    for record in records:
        scan = scans.get((database.digest, record.key_id))
        counted = _now(scan, now[record.key_id]) if is_here and record.key_id in now else _then(scan)
        keys.append(
            {
                "key_id": record.key_id.hex(),
                "purpose": record.purpose.value,
                "state": record.state.value,
                "uses": counted.found,
                "where": list(counted.where),
                "counted_at": counted.at,
                "cleared_at": counted.cleared_at,
            }
        )
    return {
        "database": database.name,
        "place": database.place,
        "here": is_here,
        "first_seen": _second(database.first_seen),
        "last_seen": _second(database.last_seen),
        "forgotten_at": _second(database.forgotten_at),
        "keys": keys,
    }


def _now(scan: Scan | None, uses: Sequence[KeyUse]) -> _Counted:
    found = sum(use.count for use in uses)
    return _Counted(found, [str(use) for use in uses], "now", "" if scan is None or found else _second(scan.cleared_at))


def _then(scan: Scan | None) -> _Counted:
    if scan is None:
        return _Counted(None, (), "", "")
    return _Counted(scan.found, (), _second(scan.scanned_at), _second(scan.cleared_at))


def _second(moment: Any) -> str:
    return "" if moment is None else str(moment.isoformat(timespec="seconds"))
