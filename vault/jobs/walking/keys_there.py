"""Keys there: which of some primary keys a table has now, in all of it or in a range."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Table, and_, or_

from vault.jobs.change import Key
from vault.jobs.walking.key_pages import key_of, page_statement
from vault.jobs.walking.key_range import WHOLE, KeyRange

__all__ = ["keys_there"]

KEYS_AT_ONCE: Final = 100


def keys_there(connection: Connection, table: Table, keys: Sequence[Key], key_range: KeyRange = WHOLE) -> set[Key]:
    """table: as job_table() makes it. keys: as the driver gives them."""
    columns, dialect = list(table.primary_key.columns), connection.dialect.name
    found: set[Key] = set()
    for start in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[start : start + KEYS_AT_ONCE]
        any_of = or_(*(and_(*(c == part for c, part in zip(columns, key, strict=True))) for key in some))
        statement = page_statement(table, (), key_range, len(some), dialect).where(any_of)
        found |= {key_of(table, row) for row in connection.execute(statement).mappings()}
    return found.intersection(keys)
