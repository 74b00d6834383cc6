"""Budget remarks: where policy and ledger differ, and which datasets are copies of each other, a line each."""

from collections.abc import Iterator, Mapping

from rich.console import Console

from dp.ledger import Ledger
from vault.budgets import budgets_that_differ, copies_of
from vault.policy import Policy

__all__ = ["copies_told", "differences_told", "say_differences"]

APPLY = 'noisevault budget apply --reason "..."'


def differences_told(ledger: Ledger, policy: Policy, sources: Mapping[str, str] | None = None) -> Iterator[str]:
    """sources: where the rows of datasets are, where that is to be compared too."""
    for place in budgets_that_differ(ledger, policy, sources or {}):
        yield (
            f"{place}: its budgets are not those of the ledger, which are the ones that hold; bring the ledger to the"
            f" policy by: {APPLY}"
        )


def copies_told(ledger: Ledger, policy: Policy) -> Iterator[str]:
    for name in policy.dataset:
        others = copies_of(ledger, name)
        if others:
            yield (
                f"dataset.{name} has the rows of {', '.join(others)}, so that they share one lifetime; where it is no"
                f" copy, write separate_budget = WHY, and type: {APPLY}"
            )


def say_differences(ledger: Ledger, policy: Policy) -> None:
    """On standard error, beside what a command gives."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    for line in differences_told(ledger, policy):
        console.print(f"note: {line}")
