"""Delta: the probability that a promise of epsilon does not cover, an integer number of 1e-18 (atto-delta)."""

from decimal import Decimal
from fractions import Fraction
from typing import Final

from dp.epsilon import exact_number
from dp.errors import ParameterError
from dp.price import ATTO

_WRITE: Final = "write a number from 0 to below 1 with at most eighteen decimals, such as '1e-6'"


def parse_delta(delta: str | Decimal | float | Fraction) -> int:
    """The atto-delta of a number, exactly; read as parse_epsilon() reads, but that 0 is one.

    Raises: ParameterError for what is no number from 0 to below 1, or finer than 1e-18.
    """
    atto = exact_number(delta, "delta", _WRITE) * ATTO
    if not 0 <= atto < ATTO:
        raise ParameterError("delta", f"it must be from 0 to below 1; {_WRITE}")
    if atto.denominator != 1:
        raise ParameterError("delta", f"it is finer than 1e-18; {_WRITE}")
    return int(atto)
