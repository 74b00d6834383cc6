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
    or_,
    select,
    update,
)

from dp.ledger.limits.counter import Counter, Key
from dp.ledger.limits.declared import KEY, NEW_BUCKET, new_scope
from dp.ledger.limits.windows import Window
from dp.ledger.store.schema import scope, scope_bucket
from dp.ledger.store.writes import Write

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
_MOVE: Final = (
    update(scope)
    .where(*(scope.c[name] == bindparam(f"of_{name}") for name in KEY))
    .where(scope.c.bucket == bindparam("was_at", type_=BigInteger))
    .where(scope.c.spent_nano_epsilon == bindparam("was", type_=BigInteger))
    .values(bucket=bindparam("now_at"), spent_nano_epsilon=bindparam("now"))
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
    for counter, names in zip(counters, _names_of(len(counters)), strict=True):
        values.update(zip(names, (*counter.key, counter.window.bucket), strict=True))
    return values


@lru_cache(maxsize=64)
def _names_of(n: int) -> tuple[tuple[str, ...], ...]:
    """Of the parameters of _any_of() for each of n rows."""
    return tuple(tuple(f"{name}_{at}" for name in (*_NAMES, "bucket")) for at in range(n))


def sums_of(connection: Connection, dataset: str) -> Callable[[Key], Callable[[int], int]]:
    """Of a scope of the dataset, what its buckets from one on add up to."""

    def of_scope(key: Key) -> Callable[[int], int]:
        return lambda first: int(connection.scalar(SUM, _since(dataset, key, first)) or 0)

    return of_scope


def buckets_from(connection: Connection, dataset: str, key: Key, first: int) -> Sequence[tuple[int, int]]:
    """Pairs of a bucket and what was spent in it, in order."""
    return [(row.bucket, row.nano_epsilon) for row in connection.execute(BUCKETS, _since(dataset, key, first))]


def spending_scopes(dataset: str, costs: Sequence[tuple[Counter, int]]) -> list[Write]:
    """Adds to each counter what it costs, in nano-epsilon above 0, where its row is what it was."""
    writes: list[Write] = []
    same = sorted(((nano, c) for c, nano in costs if c.stored == c.window), key=lambda pair: pair[0])
    for nano, pairs in groupby(same, key=lambda pair: pair[0]):
        counters = [counter for _, counter in pairs]
        n, asked = len(counters), {"of_dataset": dataset, "nano": nano, **_rows(counters)}
        as_read = {f"spent_nano_epsilon_{at}": counter.window.nano for at, counter in enumerate(counters)}
        writes += [Write(_adding(n), {**asked, **as_read}, n), Write(_adding_to_buckets(n), asked, n)]
    for counter, nano in costs:
        if counter.stored == counter.window:
            continue
        key = {"dataset": dataset, **dict(zip(_NAMES, counter.key, strict=True))}
        if counter.stored is None:
            writes += new_scope(key, counter.window.bucket, cap=None, nano=nano)
        else:
            new = {**key, "bucket": counter.window.bucket, "nano_epsilon": nano}
            writes += [_moving(key, counter.stored, counter.window.with_spent(nano)), Write(NEW_BUCKET, new)]
    return writes


def _moving(key: dict[str, str], stored: Window, window: Window) -> Write:
    """To a later bucket."""
    as_read = {f"of_{name}": value for name, value in key.items()}
    moved = {"was_at": stored.bucket, "was": stored.nano, "now_at": window.bucket, "now": window.nano}
    return Write(_MOVE, {**as_read, **moved})


def _since(dataset: str, key: Key, first: int) -> dict[str, str | int]:
    values = zip(KEY, (dataset, *key), strict=True)
    return {"first": first, **{f"of_{name}": value for name, value in values}}
