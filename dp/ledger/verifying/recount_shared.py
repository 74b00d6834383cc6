"""Recount of shared lifetimes: their limits, members and sums, from the entries of the log alone."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select

from dp.accounting.either_rule import Spent
from dp.errors import AuditError
from dp.ledger.limits.shared import joined, spent_fields
from dp.ledger.store.schema import shared_lifetime, shared_member

LIMITS: Final = ("lifetime_nano_epsilon", "lifetime_atto_delta", "question_atto_delta", "lifetime_nano_rho")


class SharedRecount:
    """Grows entry by entry, in the order of the log."""

    def __init__(self) -> None:
        self.limits: dict[str, dict[str, int]] = {}
        self.members: dict[str, set[str]] = {}
        self.sums: dict[str, Spent] = {}

    def declare(self, entry: Mapping[str, Any], spent: Mapping[str, Spent]) -> None:
        """Of an entry of kind lifetime. spent: of every dataset, up to this entry."""
        name, members = entry["name"], set(entry["datasets"])
        joining = members - self.members.get(name, set())
        self.sums[name] = joined(self.sums.get(name, Spent()), (spent[dataset] for dataset in joining))
        self.members[name] = members
        self.limits[name] = {limit: entry[limit] for limit in LIMITS}

    def charge(self, dataset: str, cost: Spent) -> None:
        for name, members in self.members.items():
            if dataset in members:
                self.sums[name] = self.sums[name].adding(cost)

    def require_same(self, connection: Connection) -> None:
        """Raises: AuditError naming the first shared lifetime that is not what the log says."""
        found = {row["name"]: dict(row) for row in connection.execute(select(shared_lifetime)).mappings()}
        expected = {name: {"name": name, **self.limits[name], **spent_fields(self.sums[name])} for name in self.sums}
        members = {(row.name, row.dataset) for row in connection.execute(select(shared_member))}
        said = {(name, dataset) for name, datasets in self.members.items() for dataset in datasets}
        wrong = {name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)}
        for name in sorted(wrong | {name for name, _ in members ^ said}, key=str):
            raise AuditError(f"shared lifetime {name!r}, its sums or its members are not what the log gives")
