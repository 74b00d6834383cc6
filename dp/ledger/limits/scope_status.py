"""Scope status: what a scope has spent within its window and ever, and when some of that leaves the window."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from dp.ledger.limits.budgets import Scope
from dp.ledger.limits.counter import Key
from dp.ledger.limits.scope_rows import buckets_from, sums_of
from dp.ledger.limits.spans import SPANS
from dp.ledger.limits.windows import Window
from dp.ledger.store.schema import scope

EVERY_BUCKET: Final = -(2**62)


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """scope: with the cap that holds, of an analyst without an own one that of each analyst.

    spent_nano: within its window. ever_nano: since it was declared first. refills_at: when the next bucket with
    anything in it leaves the window, in microseconds since 1970, UTC; None where there is none, or it stays for ever.
    """

    scope: Scope
    spent_nano: int
    ever_nano: int
    refills_at: int | None

    @property
    def remaining_nano(self) -> int:
        """Never negative: a cap that was lowered below what is spent leaves 0."""
        return max(0, self.scope.cap_nano - self.spent_nano)


def read_scopes(connection: Connection, dataset: str, at: int) -> tuple[ScopeStatus, ...]:
    """Sorted by kind, subject and span. at: microseconds since 1970, UTC."""
    rows = connection.execute(select(scope).where(scope.c.dataset == dataset)).all()
    each_analyst = {row.span: row.cap_nano_epsilon for row in rows if (row.kind, row.subject) == ("analyst", "")}
    found = []
    for row in rows:
        cap = row.cap_nano_epsilon
        if cap is None and row.kind == "analyst":
            cap = each_analyst.get(row.span)
        if cap is not None:
            window = Window(SPANS[row.span], row.bucket, row.spent_nano_epsilon)
            found.append(_status(connection, dataset, Scope(row.kind, row.subject, row.span, cap), window, at))
    return tuple(sorted(found, key=lambda status: status.scope))


def _status(connection: Connection, dataset: str, declared: Scope, stored: Window, at: int) -> ScopeStatus:
    key: Key = declared.key
    sum_from = sums_of(connection, dataset)(key)
    window = stored.at(at, sum_from)
    counted = buckets_from(connection, dataset, key, window.span.first(window.bucket))
    leaving = next((bucket for bucket, nano in counted if nano), None)
    refills = None if leaving is None else window.span.leaves_at(leaving)
    return ScopeStatus(declared, window.nano, sum_from(EVERY_BUCKET), refills)
