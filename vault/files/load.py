"""Load: rows of a file into a table in one transaction, sealed on the way, all of them or none."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from sqlalchemy import Engine, Table, insert
from sqlalchemy.exc import DBAPIError, IntegrityError

from kms import (
    AccessDeniedError,
    KeyDisabledError,
    KeyNotFoundError,
    KmsError,
    LeaseExpiredError,
    LoginExpiredError,
    UnavailableError,
)
from vault.errors import FieldError, ImportRefusedError
from vault.retirement.key_refusal import is_refusal

ROWS_A_STATEMENT: Final = 1000
# What may become of keys while a file is read: an outage, or a right that was taken away.
KEYS_LOST: Final = (
    AccessDeniedError,
    KeyDisabledError,
    KeyNotFoundError,
    LeaseExpiredError,
    LoginExpiredError,
    UnavailableError,
)
NumberedRow = tuple[int, Mapping[str, Any]]


def load(engine: Engine, table: Table, rows: Iterable[NumberedRow]) -> int:
    """Insert all `rows`, or none when one of them is refused; returns how many. Each row comes with its line.

    Raises: ImportRefusedError for a row that its field or the table's rules refuse, naming the lines; what reading
    refuses; KmsError, such as UnavailableError when an outage of the keys outlasts their leases. The transaction is
    then rolled back whole, and the same file may be loaded again.
    """
    stored = 0
    batch: list[NumberedRow] = []
    failure: KmsError | ImportRefusedError
    try:
        with engine.begin() as connection:
            for batch in in_batches(rows, ROWS_A_STATEMENT):
                connection.execute(insert(table), [dict(row) for _, row in batch])
                stored += len(batch)
            return stored
    except DBAPIError as error:
        failure = ImportRefusedError(f"{lines(batch[0][0], batch[-1][0])}: {_why(error, table)}; nothing was stored")
    except FieldError as error:
        line = batch[0 if error.row is None else error.row][0]
        reason = f"line {line}, {error.column}: {error.reason}; nothing was stored"
        failure = ImportRefusedError(reason)
    except KEYS_LOST as error:
        failure = type(error)(f"{error}; nothing was stored: import the whole file again when that is over")
    # Raised outside the handler: what the driver says quotes the row.
    raise failure


def _why(error: DBAPIError, table: Table) -> str:
    """Raises: the error, if it is none that a row is refused by."""
    if is_refusal(error):
        return (
            f"a trigger of table {table.name} refuses the key that sealed it, which was retired: type the same command"
            " again, and if it says so again see what noisevault restore-check says: the key store may be an older one"
        )
    if not isinstance(error, IntegrityError):
        raise error
    return (
        f"a row breaks a rule of table {table.name}: its key stands twice or is in the table already, or a column that"
        " must not be empty is"
    )


def lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def in_batches(rows: Iterable[NumberedRow], size: int) -> Iterator[list[NumberedRow]]:
    """Lists of at most `size` rows (itertools.batched came with Python 3.12)."""
    source = iter(rows)
    while batch := list(islice(source, size)):
        yield batch
