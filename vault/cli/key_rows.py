"""Key rows: what `keys list` tells of each key, for people and for programs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kms import KeyRecord, KeyState
from kms.seal_counter import ROTATE_AFTER_SEALS
from vault.duration import show_duration

Row = dict[str, Any]
# The columns of the table. kek is a number, for an address does not fit beside the rest.
SHOWN = ("key_id", "purpose", "sequence", "state", "age", "seals", "kek")


def key_rows(records: Sequence[KeyRecord], counts: Mapping[tuple[bytes, str], int]) -> list[Row]:
    """For programs. counts: seals by key id and label, of which the most sealed one decides when to rotate."""
    seals: dict[bytes, list[int]] = {}
    for (key_id, _), count in counts.items():
        seals.setdefault(key_id, []).append(count)
    return [_row(record, seals.get(record.key_id, [])) for record in records]


def numbered_keks(rows: Sequence[Row]) -> dict[tuple[str, str], int]:
    """A number, from 1, for each key-encryption key and version that wraps one of the keys."""
    wrapped_by = dict.fromkeys((row["kek"], row["kek_version"]) for row in rows if row["kek"])
    return {kek: number for number, kek in enumerate(wrapped_by, start=1)}


def shown(row: Row, now: datetime, keks: Mapping[tuple[str, str], int]) -> list[str]:
    """The cells of one key for people, as SHOWN names them; a count over half of the limit is marked."""
    age = show_duration(now - datetime.fromisoformat(row["created_at"]))
    state = f"{row['state']} {row['changed_at'][:10]}"
    if row["destroy_after"]:
        state += f", until {row['destroy_after'][:10]}"
    seals = f"{row['most_seals']} of a field, {row['seals']} in all" if row["seals"] else "0"
    mark = "! " if row["rotate"] else ""
    kek = keks.get((row["kek"], row["kek_version"]), "")
    cells = row | {"state": state, "age": age, "seals": f"{mark}{seals}", "kek": kek}
    return [str(cells[name]) for name in SHOWN]


def _row(record: KeyRecord, seals: Sequence[int]) -> Row:
    most = max(seals, default=0)
    return {
        "key_id": record.key_id.hex(),
        "purpose": record.purpose.value,
        "sequence": record.sequence,
        "state": record.state.value,
        "seals": sum(seals),
        "created_at": _second(record.created_at),
        "kek": record.wrapped.kek if record.wrapped else "",
        "kek_version": record.wrapped.kek_version if record.wrapped else "",
        "changed_at": _second(record.changed_at),
        "destroy_after": _second(record.destroy_after) if record.destroy_after else "",
        "most_seals": most,
        "rotate": record.state is KeyState.ACTIVE and most > ROTATE_AFTER_SEALS,
    }


def _second(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
