"""Epoch date: since when a dataset gives the answers that it gives, as the log has it, and never by its data."""

import json
from typing import Final

from sqlalchemy import Connection, select

from dp.ledger.store.schema import audit

__all__ = ["epoch_since"]

_FIRST_DECLARED: Final = (select(audit.c.entry).where(audit.c.entry.like('%"kind":"policy"%'))).order_by(
    audit.c.sequence
)
_LAST_ADVANCED: Final = (select(audit.c.entry).where(audit.c.entry.like('%"kind":"epoch"%'))).order_by(
    audit.c.sequence.desc()
)


def epoch_since(connection: Connection, dataset: str) -> int | None:
    """When its epoch was advanced last, or else when it was declared first; in microseconds since 1970, UTC.

    None where the log does not know it.
    """
    for statement, kind in ((_LAST_ADVANCED, "epoch"), (_FIRST_DECLARED, "policy")):
        for text in connection.scalars(statement):
            entry = json.loads(text)
            if (entry["kind"], entry["dataset"]) == (kind, dataset):
                return int(entry["at"])
    return None
