"""Entries: those of the audit log that somebody wants to see, each checked by its own MAC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select

from dp.errors import ParameterError
from dp.ledger.answers import stored_bytes
from dp.ledger.keys import AuditMacs
from dp.ledger.store.schema import audit
from dp.ledger.verifying.chain import Signatures

__all__ = ["Wanted", "newest_entries"]

ROWS_AT_A_TIME: Final = 1000
BEFORE: Final = (
    select(audit.c.sequence, audit.c.entry, audit.c.key_id, audit.c.mac)
    .where(audit.c.sequence < bindparam("before"))
    .order_by(audit.c.sequence.desc())
    .limit(ROWS_AT_A_TIME)
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """kind, dataset, principal: as the entry has them; None for any. since, until: microseconds since 1970, UTC.

    since: then or later. until: before. limit: at most so many, the newest. Raises: ParameterError.
    """

    kind: str | None = None
    dataset: str | None = None
    principal: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int = 100

    def __post_init__(self) -> None:
        if type(self.limit) is not int or self.limit < 1:
            raise ParameterError("limit", "it must be an int above 0")

    def takes(self, entry: Mapping[str, Any]) -> bool:
        for name in ("kind", "dataset", "principal"):
            wanted = getattr(self, name)
            if wanted is not None and entry.get(name) != wanted:
                return False
        return (self.since is None or entry["at"] >= self.since) and (self.until is None or entry["at"] < self.until)


def newest_entries(connection: Connection, macs: AuditMacs, wanted: Wanted) -> list[dict[str, Any]]:
    """The last of the log that are wanted, in its order. Whether others were removed, only verify() tells.

    Raises: AuditError naming an entry that was changed.
    """
    found: list[dict[str, Any]] = []
    signatures, before = Signatures(macs), 2**63 - 1
    while len(found) < wanted.limit and (rows := connection.execute(BEFORE, {"before": before}).all()):
        for sequence, text, key_id, mac in rows:
            entry = signatures.read(sequence, stored_bytes(text), key_id, mac)
            if wanted.takes(entry):
                found.append(entry)
        before = rows[-1][0]
    return found[: wanted.limit][::-1]
