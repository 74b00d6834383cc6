"""Shown amounts: epsilon, rho and delta as exact decimals, with a word where there is no figure."""

from dp.nano import show, show_atto
from vault.reporting.amount import Amount

__all__ = ["delta_of", "epsilon_of", "pair_of", "rho_of"]

NONE = "none"


def epsilon_of(amount: Amount) -> str:
    """Of the charges that have one; how many have none is told beside it."""
    shown = show(amount.nano_epsilon)
    return f"{shown} and {amount.unbounded} without" if amount.unbounded else shown


def rho_of(amount: Amount) -> str:
    return show(amount.nano_rho)


def delta_of(amount: Amount) -> str:
    return show_atto(amount.atto_delta)


def pair_of(pair: tuple[int | None, int]) -> str:
    """An epsilon at a delta."""
    nano, atto = pair
    if nano is None:
        return NONE
    return f"{show(nano)} at delta {show_atto(atto)}" if atto else show(nano)
