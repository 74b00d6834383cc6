"""Unreadable: what stands in a table of the ledger and was not written here, by its kind alone.

SQLite takes from anyone bytes in place of text, which its driver refuses to read, and text in place of numbers; any
database takes a name of a span that is none.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def numbers_and_names() -> Iterator[None]:
    """While rows of budgets are reckoned with. Raises: AuditError where those are no numbers, or names of nothing."""
    try:
        yield
    except (TypeError, KeyError):
        raise AuditError(
            "a budget's row in the ledger's tables is none that was written here: verify the audit, restore the ledger"
        ) from None  # a KeyError says what stands in the row
