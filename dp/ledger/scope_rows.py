"""Scope rows: the statements on the tables of scopes and of their buckets of time.

Whoever adds to a row says what it was when it was looked at, and nothing is added where it is another by now.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Table,
    Update,
    and_,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)

from dp.errors import LedgerError
from dp.ledger.counter import Counter, Key
from dp.ledger.declared import KEY, insert_scope
from dp.ledger.schema import scope, scope_bucket
from dp.ledger.windows import Window

_NAMES: Final = KEY[1:]
_NANO: Final = bindparam("nano", type_=BigInteger)
_SINCE: Final = (
    *(scope_bucket.c[name] == bindparam(f"of_{name}") for name in KEY),
    scope_bucket.c.bucket >= bindparam("first", type_=BigInteger),
)
SUM: Final = select(func.sum(scope_bucket.c.nano_epsilon)).where(*_SINCE)
BUCKETS: Final = (
    select(scope_bucket.c.bucket, scope_bucket.c.nano_epsilon).where(*_SINCE).order_by(scope_bucket.c.bucket)
)


@lru_cache(maxsize=64)
def _adding(n: int) -> Update:
    """To n scopes. Built once for each n: IN with any number of values would cost more than all the rest."""
    as_read = _any_of(scope, (*_NAMES, "bucket", "spent_nano_epsilon"), n)
    return update(scope).where(as_read).values(spent_nano_epsilon=scope.c.spent_nano_epsilon + _NANO)


@lru_cache(maxsize=64)
def _adding_to_buckets(n: int) -> Update:
    of_rows = _any_of(scope_bucket, (*_NAMES, "bucket"), n)
    return update(scope_bucket).where(of_rows).values(nano_epsilon=scope_bucket.c.nano_epsilon + _NANO)


def _any_of(table: Table, names: Sequence[str], n: int) -> ColumnElement[bool]:
    """The condition that a row is one of n whose values _rows() names."""
    rows = (and_(*(table.c[name] == bindparam(f"{name}_{at}") for name in names)) for at in range(n))
    return and_(table.c.dataset == bindparam("of_dataset"), or_(*rows))


def _rows(counters: Sequence[Counter]) -> dict[str, str | int]:
    values: dict[str, str | int] = {}
    for at, counter in enumerate(counters):
        names: dict[str, str | int] = {**dict(zip(_NAMES, counter.key, strict=True)), "bucket": counter.window.bucket}
        values |= {f"{name}_{at}": value for name, value in names.items()}
        values[f"spent_nano_epsilon_{at}"] = counter.window.nano
    return values


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
    same = sorted(((nano, c) for c, nano in costs if c.stored == c.window), key=lambda pair: pair[0])
    for nano, pairs in groupby(same, key=lambda pair: pair[0]):
        counters = [counter for _, counter in pairs]
        n, asked = len(counters), {"of_dataset": dataset, "nano": nano, **_rows(counters)}
        require_same(connection.execute(_adding(n), asked).rowcount == n)
        require_same(connection.execute(_adding_to_buckets(n), asked).rowcount == n)
    for counter, nano in costs:
        key = {"dataset": dataset, **dict(zip(_NAMES, counter.key, strict=True))}
        if counter.stored is None:
            insert_scope(connection, key, counter.window.bucket, cap=None, nano=nano)
        elif counter.stored != counter.window:
            _move(connection, key, counter.stored, counter.window.with_spent(nano))
            new = {**key, "bucket": counter.window.bucket, "nano_epsilon": nano}
            connection.execute(insert(scope_bucket), new)


def _move(connection: Connection, key: dict[str, str], stored: Window, window: Window) -> None:
    """To a later bucket."""
    as_read = [scope.c[name] == value for name, value in key.items()]
    moved = connection.execute(
        update(scope)
        .where(*as_read, scope.c.bucket == stored.bucket, scope.c.spent_nano_epsilon == stored.nano)
        .values(bucket=window.bucket, spent_nano_epsilon=window.nano)
    )
    require_same(moved.rowcount == 1)


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
