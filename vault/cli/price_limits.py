"""Price limits: which budgets of a policy a price does not fit into even when nothing of them is spent.

Budgets of analysts and groups are left out: nobody knows yet who will ask.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import dp
from dp.accounting.either_rule import Limits, Spent
from dp.ledger.errors import QuestionPriceError
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.room import stand_alone
from vault.policy import Policy
from vault.policy.declared_budgets import budgets_of

__all__ = ["beyond"]

WINDOWS: Final = {"ever": "for ever"}


def beyond(policy: Policy, dataset: str, columns: Sequence[str], price: dp.Price) -> tuple[str, ...]:
    """Why a question that reads the columns would be refused at this price; empty where it would not."""
    budgets = budgets_of(policy.dataset[dataset])
    limits = Limits.of(budgets.lifetime_nano, budgets.lifetime_atto_delta)
    if not Spent().plus(price).within(limits):
        return (f"it costs more than the lifetime of dataset {dataset!r}, epsilon {dp.show(budgets.lifetime_nano)}",)
    nano = stand_alone(price, budgets.lifetime_atto_delta - limits.atto_delta)
    return (*_of_price(budgets, dataset, nano), *_of_scopes(budgets.scopes, columns, nano))


def _of_price(budgets: Budgets, dataset: str, nano: int) -> Iterator[str]:
    least, most = budgets.least_nano, budgets.most_nano
    if nano < least or (most and nano > most):
        yield str(QuestionPriceError(dataset, nano, least, most))


def _of_scopes(scopes: Sequence[Scope], columns: Sequence[str], nano: int) -> Iterator[str]:
    for scope in scopes:
        if (scope.kind == "dataset" or (scope.kind == "column" and scope.subject in columns)) and nano > scope.cap_nano:
            of = f" of column {scope.subject!r}" if scope.subject else ""
            within = WINDOWS.get(scope.span, f"of a {scope.span}")
            yield f"it costs epsilon {dp.show(nano)}, and the budget {within}{of} is {dp.show(scope.cap_nano)}"
