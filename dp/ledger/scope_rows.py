"""Scope rows: the statements on the tables of scopes and of their buckets of time.

Whoever adds to a row says what it was when it was looked at, and nothing is added where it is another by now.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from sqlalchemy import BigInteger, BindParameter, Connection, bindparam, func, insert, select, tuple_, update

from dp.errors import LedgerError
from dp.ledger.counter import Counter, Key
from dp.ledger.declared import KEY, insert_scope
from dp.ledger.schema import scope, scope_bucket

_NAMES: Final = KEY[1:]
_DATASET: Final[BindParameter[str]] = bindparam("of_dataset")
_NANO: Final = bindparam("nano", type_=BigInteger)
_AS_READ: Final = tuple_(*(scope.c[name] for name in (*_NAMES, "bucket", "spent_nano_epsilon"))).in_(
    bindparam("rows", expanding=True)
)
_OF_ROWS: Final = tuple_(*(scope_bucket.c[name] for name in (*_NAMES, "bucket"))).in_(bindparam("rows", expanding=True))
ADD: Final = (
    update(scope)
    .where(scope.c.dataset == _DATASET, _AS_READ)
    .values(spent_nano_epsilon=scope.c.spent_nano_epsilon + _NANO)
)
ADD_TO_BUCKETS: Final = (
    update(scope_bucket)
    .where(scope_bucket.c.dataset == _DATASET, _OF_ROWS)
    .values(nano_epsilon=scope_bucket.c.nano_epsilon + _NANO)
)
MOVE: Final = (
    update(scope)
    .where(scope.c.dataset == _DATASET, _AS_READ)
    .values(bucket=bindparam("to_bucket", type_=BigInteger), spent_nano_epsilon=_NANO)
)
_SINCE: Final = (
    *(scope_bucket.c[name] == bindparam(f"of_{name}") for name in KEY),
    scope_bucket.c.bucket >= bindparam("first", type_=BigInteger),
)
SUM: Final = select(func.sum(scope_bucket.c.nano_epsilon)).where(*_SINCE)
BUCKETS: Final = (
    select(scope_bucket.c.bucket, scope_bucket.c.nano_epsilon).where(*_SINCE).order_by(scope_bucket.c.bucket)
)


def sums_of(connection: Connection, dataset: str) -> Callable[[Key], Callable[[int], int]]:
    """Of a scope of the dataset, what its buckets from one on add up to."""

    def of_scope(key: Key) -> Callable[[int], int]:
        return lambda first: int(connection.scalar(SUM, _since(dataset, key, first)) or 0)

    return of_scope


def buckets_from(connection: Connection, dataset: str, key: Key, first: int) -> Sequence[tuple[int, int]]:
    """Pairs of a bucket and what was spent in it, in order."""
    return [(row.bucket, row.nano_epsilon) for row in connection.execute(BUCKETS, _since(dataset, key, first))]


def spend_scopes(connection: Connection, dataset: str, costs: Sequence[tuple[Counter, int]]) -> None:
    """Add to each counter what it costs, in nano-epsilon above 0.

    Raises: LedgerError where a row is no longer what it was (see require_same).
    """
    same = sorted(((c, nano) for c, nano in costs if c.stored == c.window), key=lambda pair: pair[1])
    for nano, pairs in groupby(same, key=lambda pair: pair[1]):
        windows = [(c.key, c.window) for c, _ in pairs]
        rows = [(*key, window.bucket, window.nano) for key, window in windows]
        require_same(connection.execute(ADD, {"of_dataset": dataset, "nano": nano, "rows": rows}).rowcount == len(rows))
        rows_of_buckets = [(*key, window.bucket) for key, window in windows]
        asked = {"of_dataset": dataset, "nano": nano, "rows": rows_of_buckets}
        require_same(connection.execute(ADD_TO_BUCKETS, asked).rowcount == len(rows))
    for counter, nano in costs:
        key = {"dataset": dataset, **dict(zip(_NAMES, counter.key, strict=True))}
        if counter.stored is None:
            insert_scope(connection, key, counter.window.bucket, cap=None, nano=nano)
        elif counter.stored != counter.window:
            rows = [(*counter.key, counter.stored.bucket, counter.stored.nano)]
            to = {"to_bucket": counter.window.bucket, "nano": counter.window.nano + nano}
            require_same(connection.execute(MOVE, {"of_dataset": dataset, "rows": rows, **to}).rowcount == len(rows))
            new = {**key, "bucket": counter.window.bucket, "nano_epsilon": nano}
            connection.execute(insert(scope_bucket), new)


def _since(dataset: str, key: Key, first: int) -> dict[str, str | int]:
    values = zip(KEY, (dataset, *key), strict=True)
    return {"first": first, **{f"of_{name}": value for name, value in values}}


def require_same(same: bool) -> None:
    """Raises: LedgerError where something changed since it was read, which the lock on the audit's head forbids."""
    if not same:
        raise LedgerError(
            "a budget was changed by somebody who did not lock the audit's head: verify the audit, and let nobody else"
            " write to the ledger's tables"
        )
