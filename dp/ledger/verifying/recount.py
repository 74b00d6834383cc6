"""Recount: every counter anew from the entries of the log alone, to hold against the tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from dp.accounting.either_rule import Spent
from dp.errors import AuditError
from dp.ledger.limits.budget import FIRST_EPOCH
from dp.ledger.store.schema import budget
from dp.ledger.verifying.recount_scopes import ScopeRecount
from dp.ledger.verifying.recount_shared import LIMITS, SharedRecount

COST: Final = ("nano_epsilon", "nano_rho", "atto_delta", "unbounded")
SPENT: Final = tuple((unit, f"spent_{unit}") for unit in COST)
# What is declared beside the lifetime, and what it is where nothing is.
BESIDE: Final[dict[str, int | str]] = {"least_nano_epsilon": 0, "most_nano_epsilon": 0, "source": "", "separate": ""}


class Recount:
    """Grows entry by entry, in the order of the log."""

    def __init__(self) -> None:
        self.budgets: dict[str, dict[str, Any]] = {}
        self.scopes = ScopeRecount()
        self.shared = SharedRecount()

    def add(self, entry: Mapping[str, Any]) -> None:
        kind = entry["kind"]
        if kind == "policy":
            nothing = {"epoch": FIRST_EPOCH, **{f"spent_{unit}": 0 for unit in COST}}
            counters = self.budgets.setdefault(entry["dataset"], nothing)
            counters.update({field: entry[field] for field in (*LIMITS, *BESIDE)})
            self.scopes.declare(entry)
        elif kind == "lifetime":
            self.shared.declare(entry, {dataset: _spent(each) for dataset, each in self.budgets.items()})
        elif kind == "epoch":
            self.budgets[entry["dataset"]]["epoch"] = entry["epoch"]
        elif kind == "charge":
            self.charge(entry["dataset"], [entry[unit] for unit in COST], entry["scopes"])

    def charge(self, dataset: str, cost: Sequence[int], scopes: Sequence[Sequence[Any]]) -> None:
        """cost: by the order of COST. scopes: as an entry has them."""
        nano_epsilon, nano_rho, atto_delta, unbounded = cost
        counters = self.budgets[dataset]
        counters["spent_nano_epsilon"] += nano_epsilon
        counters["spent_nano_rho"] += nano_rho
        counters["spent_atto_delta"] += atto_delta
        counters["spent_unbounded"] += unbounded
        if scopes:
            self.scopes.charge({"dataset": dataset, "scopes": scopes})
        if self.shared.members:
            self.shared.charge(dataset, Spent(*cost))

    def require_same(self, connection: Connection) -> None:
        """Raises: AuditError naming the budget, or the table, that is not what the log says."""
        found = {row["dataset"]: row for row in connection.execute(select(budget)).mappings()}
        for dataset in sorted(self.budgets.keys() | found.keys(), key=str):
            if dataset not in found or dataset not in self.budgets:
                raise AuditError(
                    f"dataset {dataset!r} has a budget in the log or in table noisevault_budget, not in both"
                )
            for name, expected in self.budgets[dataset].items():
                if found[dataset][name] != expected:
                    raise AuditError(
                        f"the budget of dataset {dataset!r} has {name} {found[dataset][name]}, the log gives {expected}"
                    )
        self.scopes.require_same(connection)
        self.shared.require_same(connection)


def _spent(counters: Mapping[str, Any]) -> Spent:
    return Spent(*(counters[spent] for _, spent in SPENT))


def with_unsaid(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with what those of earlier versions did not say.

    Of version 1: every price had an epsilon, and no lifetime a sum of rho. Of version 2: a lifetime stood alone.
    """
    if entry["kind"] == "charge":
        entry.setdefault("unbounded", 0)
        entry.setdefault("scopes", [])
        entry.setdefault("request", None)
    elif entry["kind"] == "policy":
        entry.setdefault("question_atto_delta", entry["lifetime_atto_delta"])
        entry.setdefault("lifetime_nano_rho", 0)
        for name, nothing in BESIDE.items():
            entry.setdefault(name, nothing)
        entry.setdefault("scopes", [])
        entry.setdefault("members", [])
    return entry
