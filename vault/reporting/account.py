"""An account: what the charges of a dataset add up to by one way of adding, and what that figure holds for."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dp.accounting.concentrated import MAX_NANO_RHO, epsilon_of
from vault.reporting.amount import Amount

__all__ = ["Account", "HoldsFor", "accounts"]


class HoldsFor(StrEnum):
    """What the figure is a bound for. An analyst who asks one question after the other chooses by earlier answers."""

    ALL = "questions and prices chosen by earlier answers"
    QUESTIONS = "questions chosen by earlier answers; prices too, as the limit of a lifetime"
    DECLARED = "questions and prices declared before, as one charge"


@dataclass(frozen=True, slots=True)
class Account:
    """(epsilon, delta) of the quarter alone, and of all until its end; epsilon None where this way has no figure."""

    name: str
    holds_for: HoldsFor
    quarter: tuple[int | None, int]
    until_end: tuple[int | None, int]


def accounts(spent: Amount, until_end: Amount, conversion: int, batches: Sequence[Amount]) -> tuple[Account, ...]:
    """The ways of adding side by side.

    conversion: the delta at which the sum of rho converts, in units of 1e-18; 0 for none. batches: what the quarter,
    and all until its end, charged at once for questions that were declared together.
    Source: dp/accounting/either_rule.py, concentrated.py and kov.py.
    """
    by_sum = Account("sum of epsilon", HoldsFor.ALL, _sum(spent), _sum(until_end))
    by_rho = Account("sum of rho (zCDP)", HoldsFor.QUESTIONS, _rho(spent, conversion), _rho(until_end, conversion))
    found = [by_sum, by_rho]
    in_quarter, until = batches
    if until.charges:
        found.append(Account("declared batches (KOV)", HoldsFor.DECLARED, _sum(in_quarter), _sum(until)))
    return tuple(found)


def _sum(amount: Amount) -> tuple[int | None, int]:
    return None if amount.unbounded else amount.nano_epsilon, amount.atto_delta


def _rho(amount: Amount, conversion: int) -> tuple[int | None, int]:
    if conversion == 0 or amount.nano_rho > MAX_NANO_RHO:
        return None, amount.atto_delta
    if amount.nano_rho == 0:
        return 0, amount.atto_delta
    return epsilon_of(amount.nano_rho, conversion), amount.atto_delta + conversion
