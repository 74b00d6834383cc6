"""Budgets: those of the policy, brought to the ledger, and held against those there, which are the ones enforced."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from dp.accounting.either_rule import Limits
from dp.errors import UnknownDatasetError
from dp.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, SharedLifetime
from dp.ledger.limits.copies import OWN_NAME
from dp.ledger.policy_change import Declaration
from vault.policy import Policy
from vault.policy.declared_budgets import budgets_of

__all__ = ["apply_budgets", "budgets_that_differ", "copies_of", "declare_budgets"]

Sources = Mapping[str, str]
NOT_KNOWN: Final[Sources] = {}
FOUND_OUT: Final = "where its rows are was not recorded before"


def declare_budgets(ledger: Ledger, policy: Policy, sources: Sources = NOT_KNOWN) -> list[str]:
    """Make the ledger's tables, and declare what they do not have yet. What to warn of; what is there stays.

    sources: where the rows of datasets are, where that is known.
    """
    ledger.create_schema()
    warnings: list[str] = []
    for name, rules in policy.dataset.items():
        declared, there = budgets_of(rules, sources.get(name, "")), _budgets(ledger, name)
        if there is None or there == declared:  # of what is there already, copies are warned of again
            warnings += ledger.declare(name, declared).warnings
        elif there == replace(declared, source=""):
            warnings += ledger.declare(name, declared, reason=FOUND_OUT).warnings
    for shared in _lifetimes(policy):
        if ledger.shared_lifetime(shared.name) is None:
            warnings += _share(ledger, shared).warnings
    return warnings


def apply_budgets(
    ledger: Ledger, policy: Policy, sources: Sources = NOT_KNOWN, *, reason: str, accept: bool = False
) -> Iterator[tuple[str, Declaration]]:
    """Bring the ledger to the policy's budgets, one by one: each place in the policy, and what became of it.

    What was spent stays spent. A shared lifetime that the policy does not name any more is left by its datasets.
    Raises: dp.ParameterError without a reason, SoftLimitError where accept is needed; what came before is done.
    """
    ledger.create_schema()
    for name, rules in policy.dataset.items():
        budgets = budgets_of(rules, sources.get(name, ""))
        yield f"dataset.{name}", ledger.declare(name, budgets, reason=reason, accept=accept)
    for shared in (*_lifetimes(policy), *_left(ledger, policy)):
        if _differs(ledger, shared):
            yield f"lifetime.{shared.name}", _share(ledger, shared, reason=reason, accept=accept)


def budgets_that_differ(ledger: Ledger, policy: Policy, sources: Sources = NOT_KNOWN) -> list[str]:
    """The places in the policy that say otherwise than the ledger, which is the one that is enforced.

    sources: where none is known, that of the ledger is taken for right.
    """
    places: list[str] = []
    for name, rules in policy.dataset.items():
        there = _budgets(ledger, name)
        declared = budgets_of(rules, sources.get(name) or (there.source if there else ""))
        limits = Limits.of(declared.lifetime_nano, declared.lifetime_atto_delta)
        if there != declared or ledger.status(name).limits != limits:
            places.append(f"dataset.{name}")
    lifetimes = (*_lifetimes(policy), *_left(ledger, policy))
    return places + [f"lifetime.{shared.name}" for shared in lifetimes if _differs(ledger, shared)]


def copies_of(ledger: Ledger, dataset: str) -> tuple[str, ...]:
    """The other datasets that have its rows, and share its lifetime for that."""
    shared = (one.datasets for one in ledger.shared_lifetimes(dataset) if one.name.startswith(OWN_NAME))
    return tuple(sorted({name for names in shared for name in names} - {dataset}))


def _budgets(ledger: Ledger, dataset: str) -> Budgets | None:
    try:
        return ledger.budgets(dataset)
    except UnknownDatasetError:
        return None


def _lifetimes(policy: Policy) -> list[SharedLifetime]:
    return [
        SharedLifetime(name, shared.nano, shared.atto_delta, shared.datasets)
        for name, shared in policy.lifetime.items()
    ]


def _differs(ledger: Ledger, shared: SharedLifetime) -> bool:
    there = ledger.shared_lifetime(shared.name)
    limits = Limits.of(shared.lifetime_nano, shared.lifetime_atto_delta)
    return there is None or there.declared != shared or there.status.limits != limits


def _left(ledger: Ledger, policy: Policy) -> list[SharedLifetime]:
    """The lifetimes that datasets of the policy share by the ledger alone, without those datasets."""
    known = [name for name in policy.dataset if _budgets(ledger, name) is not None]
    there = {one.name: one.declared for name in known for one in ledger.shared_lifetimes(name)}
    return [
        replace(one, datasets=tuple(name for name in one.datasets if name not in policy.dataset))
        for name, one in sorted(there.items())
        if name not in policy.lifetime and not name.startswith(OWN_NAME)
    ]


def _share(ledger: Ledger, shared: SharedLifetime, *, reason: str = "", accept: bool = False) -> Declaration:
    return ledger.share_lifetime(
        shared.name,
        shared.lifetime_nano,
        shared.datasets,
        lifetime_atto_delta=shared.lifetime_atto_delta,
        reason=reason,
        accept=accept,
    )
