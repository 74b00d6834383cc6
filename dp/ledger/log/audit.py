"""Audit log: entries that only grow in number, each signed together with the one before.

An entry is canonical JSON with "sequence" (from 1), "at" (microseconds since 1970, UTC), "kind", "key" (id of the
signing key) and "previous" (the MAC of the entry before, empty for the first). The head row names the last entry;
who locks it is alone in writing to the ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, insert, select, update

from dp.errors import AuditError
from dp.ledger.canonical_json import Plain, canonical
from dp.ledger.keys import AuditMacs
from dp.ledger.store.compiled import read
from dp.ledger.store.schema import audit, audit_head
from dp.ledger.store.writes import Write, write

HEAD_ID: Final = 1
FORMAT: Final = "noisevault/1 audit"
LAST: Final = 2**63 - 1  # no entry after it has a number that a database can hold
NO_MAC: Final = ""  # what the first entry has before it

# Built once: to build a statement costs more than to run it, and others wait meanwhile.
LOCK: Final = select(audit_head.c.sequence, audit_head.c.mac).where(audit_head.c.id == HEAD_ID).with_for_update()
LAST_KEY: Final = select(audit.c.key_id).order_by(audit.c.sequence.desc()).limit(1)
APPEND: Final = insert(audit)
MOVE_HEAD: Final = update(audit_head).where(audit_head.c.id == HEAD_ID)


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The last entry: its number and MAC. Kept elsewhere, it shows later that the log was not rewound."""

    sequence: int
    mac: str


def head_of(sequence: object, mac: object) -> AuditHead:
    """Of the locked row. Raises: AuditError where it is gone (None), or is none that was written here."""
    if type(sequence) is not int or not isinstance(mac, str) or sequence >= LAST:
        raise AuditError("the row of table noisevault_audit_head was changed: verify the audit, restore the ledger")
    return AuditHead(sequence, mac)


@dataclass(frozen=True, slots=True)
class AuditLog:
    """Appends under the lock on the head. now: microseconds since 1970, UTC."""

    macs: AuditMacs
    now: Callable[[], int]

    def is_ours(self, connection: Connection) -> bool:
        """Whether one of our keys signed the last entry; not yet when there is none.

        Raises: AuditError when another key did: nobody could verify a log that two keyrings sign.
        """
        key_id = connection.scalar(LAST_KEY)
        if key_id is None:
            return False
        try:
            self.macs.by_id(bytes.fromhex(key_id))
        except (LookupError, ValueError, TypeError):
            pass
        else:
            return True
        raise AuditError(
            f"the audit log was last signed with key {key_id!r}, which is not there: if it is another keyring's ledger,"
            " name one of your own; else bring the key back"
        )

    def lock(self, connection: Connection) -> AuditHead:
        """Wait until nobody else writes to the ledger. The first statement of every transaction that writes.

        Raises: AuditError when the row is gone, or is none that was written here.
        """
        row = read(connection, LOCK, {}).one_or_none()
        return head_of(None, None) if row is None else head_of(row.sequence, row.mac)

    def append(self, connection: Connection, head: AuditHead, kind: str, **fields: Plain) -> AuditHead:
        """Write one entry after the locked head, and give the new head. "at", if it is not given, is now."""
        signed, writes = self.entry(head, kind, **fields)
        write(connection, writes)
        return signed

    def entry(self, head: AuditHead, kind: str, **fields: Plain) -> tuple[AuditHead, list[Write]]:
        """As append() does, for who writes the entry together with what it records."""
        mac = self.macs.newest()
        sequence = head.sequence + 1
        key = mac.key_id.hex()
        entry = canonical(
            {
                **fields,
                "at": fields["at"] if "at" in fields else self.now(),
                "format": FORMAT,
                "key": key,
                "kind": kind,
                "previous": head.mac,
                "sequence": sequence,
            }
        )
        signed = AuditHead(sequence, mac.compute(entry).hex())
        row = {"sequence": sequence, "entry": entry.decode("ascii"), "key_id": key, "mac": signed.mac}
        return signed, [Write(APPEND, row), Write(MOVE_HEAD, {"sequence": sequence, "mac": signed.mac})]
