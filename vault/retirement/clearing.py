"""Clearing: one database is brought to need a key no more, for good, and that is written down.

re-encrypt ─> refuse the key by triggers, which waits for open writers ─> scan ─> if anything is found, both again
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Engine, Table

from kms.key_record import KeyRecord
from vault.databases.database_identity import DatabaseIdentity
from vault.errors import KeyInUseError
from vault.mapping.definitions import sealed_columns
from vault.retirement.clearances import Clearances
from vault.retirement.prepared_transactions import wait_for_prepared
from vault.retirement.refused_keys import refuse_keys
from vault.retirement.row_security import require_all_rows
from vault.rows.key_uses import KeyUse
from vault.triggers.patient_ddl import PATIENCE

__all__ = ["Clearing"]

# Ours: of scans that find something after all columns refuse it; what came before is moved by the first.
ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Clearing:
    """Of one key in one database.

    uses: counts what needs the key, by the stored bytes. move: re-encrypts what was found, or raises that it must be
    done first. others: keys that are to be refused as well, as those that were cleared here before.
    patience: how many seconds a transaction may hold a table. wait: as of a Scan.
    """

    engine: Engine
    tables: Sequence[Table]
    identity: DatabaseIdentity
    clearances: Clearances
    uses: Callable[[KeyRecord], list[KeyUse]]
    move: Callable[[list[KeyUse]], None]
    others: Collection[bytes] = ()
    patience: float = PATIENCE
    wait: timedelta | None = None

    def clear(self, record: KeyRecord) -> None:
        """To be called when no process seals by the key any more. May be stopped anywhere and called again.

        Raises: KeyInUseError; and what move raises.
        """
        for table in self.tables:
            require_all_rows(self.engine, table)
        found = self._scan(record)
        if found:  # first, while copies of old rows are not refused
            self.move(found)
        for table in self.tables:
            if sealed_columns(table):
                refuse_keys(self.engine, table, {record.key_id, *self.others}, self.patience)
        wait_for_prepared(self.engine, self.patience)
        for _ in range(ROUNDS):
            found = self._scan(record, cleared=True)
            if not found:
                return
            self.move(found)
        raise KeyInUseError(
            f"{record.purpose} key {record.key_id.hex()} is needed by {', '.join(map(str, found))} after {ROUNDS}"
            " re-encryptions: see why those rows are left by: noisevault status"
        )

    def _scan(self, record: KeyRecord, *, cleared: bool = False) -> list[KeyUse]:
        begun = self.clearances.now()
        found = self.uses(record)
        number = sum(use.count for use in found)
        whole = cleared and not found
        self.clearances.note(self.identity.digest, record.key_id, begun, number, cleared=whole, wait=self.wait)
        return found
