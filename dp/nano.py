"""Nano: budgets are integers of billionths (deltas of billionths of those), and this is how they are written."""

from typing import Final

NANO: Final = 10**9


def show(nano_epsilon: int) -> str:
    """The exact decimal of a nano-epsilon, without trailing zeros: 1 gives 0.000000001."""
    return _decimal(nano_epsilon, 9)


def show_atto(atto_delta: int) -> str:
    """The exact decimal of a delta in units of 1e-18, without trailing zeros."""
    return _decimal(atto_delta, 18)


def _decimal(units: int, places: int) -> str:
    whole, part = divmod(abs(units), 10**places)
    sign = "-" if units < 0 else ""
    decimals = f".{part:0{places}d}".rstrip("0") if part else ""
    return f"{sign}{whole}{decimals}"
