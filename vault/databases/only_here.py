"""Only here: what is changed in all rows at once, such as the slot an index is asked by, is changed in one database.

The phase of an index and the mode of a field are their keyring's, and a command fills the tables of one database: in
another one look-ups would miss rows, and duplicates be accepted.
"""

from collections.abc import Iterable

from vault.databases.database_register import RegisteredDatabase
from vault.errors import ChangeoverError

__all__ = ["require_only_here"]


def require_only_here(databases: Iterable[RegisteredDatabase], doing: str) -> None:
    """databases: as registered for the keyring. doing: such as "an index moves".

    Raises: ChangeoverError when several count.
    """
    # By several addresses, one run of a server is one.
    counted = {database.instance or database.digest: database for database in databases if database.counts}
    if len(counted) > 1:
        places = ", ".join(f"{database.place} ({database.name})" for database in counted.values())
        raise ChangeoverError(
            f"{doing} in one database, and this keyring is used by several: {places}. Where one of them is no more,"
            " type: noisevault keys forget-database; where none of the others has this table, add --only-here; else"
            " give each database a keyring of its own first"
        )
