"""Unreadable: bytes in place of text, which SQLite takes from anyone and its driver refuses to read."""

import re
from typing import Final

from sqlalchemy.exc import DBAPIError

from dp.errors import AuditError

# As Python's sqlite3 has said it since 2.5; it has no code, and goes on with the bytes themselves.
_SAID: Final = re.compile(r"Could not decode to UTF-8 column '(\w+)'", re.ASCII)


def unreadable(error: DBAPIError) -> AuditError | None:
    """What to raise in place of the driver's error, where it is of such bytes."""
    found = _SAID.match(str(error.orig))
    if found is None:
        return None
    return AuditError(
        f"column {found[1]!r} of a table of the ledger holds bytes that are no text: somebody else wrote them; restore"
        " the ledger"
    )
