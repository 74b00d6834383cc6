"""Epsilon: what an answer costs one person, an integer number of billionths (nano-epsilon)."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

from dp.errors import ParameterError
from dp.nano import NANO, show

# Ours: one epsilon of a billion is no privacy at all, and sums of several still fit a 64-bit column.
MAX_NANO_EPSILON: Final = 10**18

# ASCII digits only, so that no other script's digits, blanks, underscores, NaN or Infinity pass; the exponent
# is at most three digits long, so that no text can ask for a number of a billion digits.
_NUMBER: Final = re.compile(r"[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_WRITE: Final = "write a number above 0 with at most nine decimals, such as '0.5'"


def parse_epsilon(epsilon: str | Decimal | float | Fraction) -> int:
    """The nano-epsilon of a number, exactly.

    Text, Decimal, int and Fraction are exact; a float is read by its shortest representation, so that 0.1 is one
    tenth. Text that is a number is accepted ("1" is 1), any other text is refused.

    Raises: ParameterError for zero, negatives, NaN, infinities, booleans, None and other types, and for anything
    finer than 1e-9 or above 1e9.
    """
    nano = exact_number(epsilon, "epsilon", _WRITE) * NANO
    if nano <= 0:
        raise ParameterError("epsilon", f"it must be above 0; {_WRITE}")
    if nano.denominator != 1:
        raise ParameterError("epsilon", f"it is finer than 0.000000001; {_WRITE}")
    if nano > MAX_NANO_EPSILON:
        raise ParameterError("epsilon", f"it is above {show(MAX_NANO_EPSILON)}, which protects nobody; {_WRITE}")
    return int(nano)


def require_nano_epsilon(nano_epsilon: int) -> int:
    """The same integer, when it is a nano-epsilon that parse_epsilon can give.

    Raises: ParameterError.
    """
    if type(nano_epsilon) is not int or not 0 < nano_epsilon <= MAX_NANO_EPSILON:
        raise ParameterError("nano_epsilon", "it must be an int from 1 to 10**18, as parse_epsilon() gives")
    return nano_epsilon


def laplace_rho(nano_epsilon: int) -> int:
    """The zero-concentrated cost rho of a pure answer, in units of 1e-9, rounded up.

    Source: Bun, Steinke 2016, arXiv:1605.02065, proposition 1.4: epsilon gives rho = epsilon**2 / 2.
    """
    return -(-(require_nano_epsilon(nano_epsilon) ** 2) // (2 * NANO))


def exact_number(number: object, parameter: str, write: str) -> Fraction:
    """The number, exactly as it is written: see parse_epsilon(). write: what to write instead.

    Raises: ParameterError naming the parameter, for what is no plain finite number or is negative.
    """
    if isinstance(number, bool):
        raise ParameterError(parameter, f"a boolean is not a number; {write}")
    if isinstance(number, int | Fraction):
        return Fraction(number)
    if isinstance(number, Decimal):
        text = str(number)
    elif isinstance(number, float):
        text = float.__repr__(number)
    elif isinstance(number, str):
        text = number
    else:
        raise ParameterError(parameter, f"a {type(number).__name__} is not a number; {write}")
    if text.startswith("-"):
        raise ParameterError(parameter, f"it must be above 0; {write}")
    if not _NUMBER.fullmatch(text):
        raise ParameterError(parameter, f"it is not a plain finite number; {write}")
    return Fraction(text)
