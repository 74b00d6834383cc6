"""KEK uses: by which key-encryption keys the keys of each keyring are wrapped or were, as far as the store can tell."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from kms.errors import KeyringError
from kms.key_record import KeyRecord
from kms.key_rows import kek_of, keyring_id_of, moment_of, time_text
from kms.key_tables import kek_left_table, key_table, keyring_table
from kms.provider import Wrapped

__all__ = ["KekUse", "note_left", "read_kek_uses"]


@dataclass(frozen=True, slots=True)
class KekUse:
    """until: the last moment at which a copy of the store got a key of the keyring under this KEK.

    None: a live key is under it, so every copy gets one.
    """

    keyring_id: bytes
    keyring: str
    kek: str
    until: datetime | None


def note_left(connection: Connection, changes: Sequence[tuple[KeyRecord, Wrapped]], moment: datetime) -> None:
    """Note, in the transaction that stores them, which KEKs the changed keys were under until now."""
    pairs = [(record.keyring_id, record.wrapped.kek, new.kek) for record, new in changes if record.wrapped is not None]
    for keyring_id, kek in sorted({(keyring_id, old) for keyring_id, old, new in pairs if old != new}):
        row = {"keyring_id": keyring_id, "kek": kek}
        there = (kek_left_table.c.keyring_id == keyring_id) & (kek_left_table.c.kek == kek)
        left_at = time_text(moment)
        if connection.execute(update(kek_left_table).where(there).values(left_at=left_at)).rowcount == 0:
            connection.execute(insert(kek_left_table).values(row | {"left_at": left_at}))


def read_kek_uses(connection: Connection) -> list[KekUse]:
    """One for each keyring and KEK: live keys, tombstones, and what was noted when keys were wrapped by another."""
    found = connection.execute(select(keyring_table.c.id, keyring_table.c.name))
    names = {keyring_id_of(row): row.name for row in found}
    keys = select(
        key_table.c.keyring_id, key_table.c.kek, key_table.c.wrapped.is_not(None).label("kept"), key_table.c.changed_at
    )
    ended = [(row, None if row.kept else row.changed_at) for row in connection.execute(keys)]
    ended += [(row, row.left_at) for row in connection.execute(select(kek_left_table))]
    try:
        until = _latest_ends(ended)
        return [KekUse(place[0], names[place[0]], place[1], until[place]) for place in sorted(until)]
    except (KeyError, OverflowError, TypeError, ValueError):
        raise KeyringError(
            "a row of noisevault_key or noisevault_kek_left makes no sense: it was changed by hand, restore it from a"
            " backup"
        ) from None


def _latest_ends(ended: Iterable[tuple[Row[Any], str | None]]) -> dict[tuple[bytes, str], datetime | None]:
    """By keyring and KEK; None where a live key is under it."""
    until: dict[tuple[bytes, str], datetime | None] = {}
    for row, text in ended:
        place, end = (row.keyring_id, kek_of(row)), None if text is None else moment_of(text)
        before = until.get(place, end)
        until[place] = None if end is None or before is None else max(before, end)
    return until
