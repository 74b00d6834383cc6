"""Kept name: the names of term columns are short enough that every database keeps them whole.

Longer ones PostgreSQL cuts, where slots a and b, which differ at the end, would become one column.
"""

from collections.abc import Iterable
from typing import Final

from vault.errors import DefinitionError

__all__ = ["require_kept"]

# PostgreSQL's NAMEDATALEN - 1, as it is built by everybody; MariaDB keeps 64 characters.
KEPT_BYTES: Final = 63


def require_kept(label: str, names: Iterable[str]) -> None:
    """Raises: DefinitionError for a term column whose name has more than 63 bytes of UTF-8."""
    for name in names:
        if len(name.encode()) > KEPT_BYTES:
            raise DefinitionError(
                f"{label} needs a term column {name}, and PostgreSQL keeps {KEPT_BYTES} bytes of a name, MariaDB 64"
                " characters: give the index a shorter name, or the column"
            )
