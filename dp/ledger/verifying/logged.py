"""Logged: what the audit log says, entry by entry, with the texts of the questions that were charged.

It reads and verifies nothing: that the log is what was written, verify.py says.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from dp.errors import AuditError
from dp.ledger.answers import stored_bytes
from dp.ledger.keys import Sealer
from dp.ledger.place import Place
from dp.ledger.store.schema import audit, charge

ROWS_AT_A_TIME: Final = 1000
_ENTRIES: Final = (
    select(audit.c.sequence, audit.c.entry, charge.c.charge_id, charge.c.sealed_question)
    .outerjoin_from(audit, charge, charge.c.audit_sequence == audit.c.sequence)
    .order_by(audit.c.sequence)
)


@dataclass(frozen=True, slots=True)
class Logged:
    """fields: of the entry, by name. question: its canonical text, of a charge whose text still opens; else empty."""

    sequence: int
    fields: Mapping[str, Any]
    question: str = ""

    @property
    def kind(self) -> str:
        return str(self.fields.get("kind"))

    @property
    def at(self) -> int:
        """Microseconds since 1970, UTC."""
        return int(self.fields["at"])


def entries(connection: Connection, sealer: Sealer, since: int) -> Iterator[Logged]:
    """In order. since: microseconds since 1970; of charges before it the text is not opened.

    connection: one that sees a single state throughout, until the last entry was taken.
    Raises: AuditError for what is no entry at all.
    """
    with connection.execute(_ENTRIES, execution_options={"yield_per": ROWS_AT_A_TIME}) as rows:
        for row in rows:
            fields = _read(row.sequence, stored_bytes(row.entry))
            question = ""
            if row.charge_id is not None and fields["at"] >= since:
                question = _opened(sealer, fields, row.charge_id, stored_bytes(row.sealed_question))
            yield Logged(row.sequence, fields, question)


def _read(sequence: int, entry: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(entry)
    except (RecursionError, ValueError):
        fields = None
    if isinstance(fields, dict) and type(fields.get("at")) is int:
        return fields
    raise AuditError(f"audit entry {sequence} was changed: it is no entry; verify the audit, restore the ledger")


def _opened(sealer: Sealer, fields: Mapping[str, Any], charge_id: str, sealed: bytes) -> str:
    place = Place(fields["visibility"], fields["dataset"], fields["epoch"], fields["question_mac"])
    try:
        return sealer.open(sealed, place.question_aad(charge_id)).decode()
    except Exception:  # noqa: BLE001  (whatever a sealer raises: its key is gone, or the bytes were changed)
        return ""
