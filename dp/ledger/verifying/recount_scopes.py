"""Recount of scopes: their caps, windows and buckets, and who is in which group, from the entries of the log alone."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from dp.errors import AuditError
from dp.ledger.limits.spans import SPANS
from dp.ledger.store.schema import scope, scope_bucket, scope_member

Key = tuple[str, str, str, str]  # dataset, kind, subject, span


class ScopeRecount:
    """Grows entry by entry, in the order of the log."""

    def __init__(self) -> None:
        self.caps: dict[Key, int | None] = {}
        self.buckets: dict[Key, dict[int, int]] = {}
        self.members: dict[str, set[tuple[str, str]]] = {}

    def declare(self, entry: Mapping[str, Any]) -> None:
        """Of an entry of kind policy: what it does not name has no cap any more, and counts on."""
        dataset = entry["dataset"]
        self.members[dataset] = {(group, principal) for group, principal in entry["members"]}
        for key in self.caps:
            if key[0] == dataset:
                self.caps[key] = None
        for kind, subject, span, cap in entry["scopes"]:
            key = (dataset, kind, subject, span)
            self.caps[key] = cap
            self.buckets.setdefault(key, {SPANS[span].at(entry["at"]): 0})

    def charge(self, entry: Mapping[str, Any]) -> None:
        for kind, subject, span, bucket, nano in entry["scopes"]:
            key = (entry["dataset"], kind, subject, span)
            self.caps.setdefault(key, None)
            buckets = self.buckets.setdefault(key, {})
            buckets[bucket] = buckets.get(bucket, 0) + nano

    def require_same(self, connection: Connection) -> None:
        """Raises: AuditError naming the first scope that is not what the log says."""
        expected: dict[Key, tuple[object, ...]] = {}
        for key, buckets in self.buckets.items():
            last = max(buckets)
            window = sum(nano for bucket, nano in buckets.items() if bucket >= SPANS[key[3]].first(last))
            expected[key] = (self.caps[key], last, window)
        _require_same("scope", expected, {tuple(row)[:4]: tuple(row)[4:] for row in connection.execute(select(scope))})
        _require_same(
            "scope_bucket",
            {(*key, bucket): (nano,) for key, each in self.buckets.items() for bucket, nano in each.items()},
            {tuple(row)[:5]: tuple(row)[5:] for row in connection.execute(select(scope_bucket))},
        )
        _require_same(
            "scope_member",
            {(dataset, *pair): () for dataset, pairs in self.members.items() for pair in pairs},
            {tuple(row): () for row in connection.execute(select(scope_member))},
        )


def _require_same(
    table: str, expected: Mapping[tuple[Any, ...], object], found: Mapping[tuple[Any, ...], object]
) -> None:
    if expected != found:
        key = min((key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key)), key=repr)
        raise AuditError(
            f"table noisevault_{table} has {found.get(key, 'no row')} for {key}, the log gives"
            f" {expected.get(key, 'no row')}"
        )
