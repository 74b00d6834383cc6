"""Nano: budgets are integers of billionths, and this is how they are written."""

from typing import Final

NANO: Final = 10**9


def show(nano_epsilon: int) -> str:
    """The exact decimal of a nano-epsilon, without trailing zeros: 1 gives 0.000000001."""
    whole, part = divmod(abs(nano_epsilon), NANO)
    sign = "-" if nano_epsilon < 0 else ""
    decimals = f".{part:09d}".rstrip("0") if part else ""
    return f"{sign}{whole}{decimals}"
