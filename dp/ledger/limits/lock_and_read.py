"""Lock and read: the audit's head is locked, and then read what a charge counts against; on MariaDB in one turn.

    BEGIN NOT ATOMIC DECLARE ...; SELECT sequence, mac INTO ... FOR UPDATE; SELECT ... UNION ALL SELECT 'head', ...; END

Each statement of such a block sees what was committed when it began, as it does by itself: the second one what the
holder of the lock before had written.
"""

from functools import lru_cache
from typing import Any, Final

from sqlalchemy import CompoundSelect, Connection, Dialect, literal_column, union_all

from dp.ledger.limits.against import FIND, Rows, part, values_of
from dp.ledger.log.audit import LOCK, AuditHead, AuditLog, head_of
from dp.ledger.place import Place
from dp.ledger.store.compiled import Schemas, Text, knows_blocks, schemas_of, text_of

__all__ = ["lock_and_read"]

# Names that no table has: within a block they stand before columns that are called so.
_DECLARED: Final = (
    "DECLARE found_sequence BIGINT; DECLARE found_mac VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
)
_INTO: Final = " INTO found_sequence, found_mac \nFROM "
_HEAD: Final = part("head", (literal_column("found_mac"),), literal_column("found_sequence"))
FIND_AND_HEAD: Final[CompoundSelect[Any]] = union_all(*FIND.selects, _HEAD)


def lock_and_read(connection: Connection, log: AuditLog, place: Place, principal: str) -> tuple[AuditHead, Rows | None]:
    """The locked head, as AuditLog.lock() gives it; what find_rows() gives, or None where that takes another turn.

    Raises: AuditError.
    """
    if not knows_blocks(connection.dialect):
        return log.lock(connection), None
    values = values_of(place, principal)
    text = _block(connection.dialect, schemas_of(connection), tuple(values))
    rows = connection.exec_driver_sql(text.sql, text.parameters(values)).all()
    heads = [(row[4], row[1]) for row in rows if row[0] == "head"]
    return head_of(*heads[0]), [row for row in rows if row[0] != "head"]


@lru_cache(maxsize=64)
def _block(dialect: Dialect, schemas: Schemas, names: tuple[str, ...]) -> Text:
    lock, find = text_of(dialect, schemas, LOCK, ()), text_of(dialect, schemas, FIND_AND_HEAD, names)
    fixed: dict[str, Any] = {**find.fixed, **lock.fixed}
    locking = lock.sql.replace(" \nFROM ", _INTO, 1)
    return Text(f"BEGIN NOT ATOMIC {_DECLARED} {locking}; {find.sql}; END", None, fixed)
