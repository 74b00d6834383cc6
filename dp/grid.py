"""The grid: the declared integers that values are rounded and clamped to before anything is added up.

A policy is read by every command, and few put values on its grids: numpy waits for those (quantising.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, Self

from dp.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A float64 holds every integer up to 2**53, and every half up to 2**52: rounding is exact up to here.
MAX_FLOAT_BOUND: Final = 2**52
# The sum of two still fits a signed 64-bit integer, so that u - l and a distance from the mid-point do.
MAX_INT_BOUND: Final = 2**62

_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)

Exact = int | str | Decimal | Fraction


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of `step` from lower * step to upper * step; lower and upper are counted in steps.

    Bounds come from what the column can mean, never from the data, and there is no default.

    Raises: ParameterError for bounds that are upside down or beyond 2**62 steps, and for a step that is not above 0
    or has a numerator or denominator that a float64 does not hold exactly.
    """

    step: Fraction
    lower: int
    upper: int

    def __post_init__(self) -> None:
        if type(self.step) is not Fraction or self.step <= 0:
            raise ParameterError("step", "it must be a fraction above 0; Grid.of('0', '100', '0.01') reads text")
        for part in (self.step.numerator, self.step.denominator):
            if part.bit_length() > 1000 or int(float(part)) != part:
                raise ParameterError("step", "it is finer or odder than floats can hold; write one such as '0.001'")
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if type(bound) is not int:
                raise ParameterError(name, "a bound is an int, counted in steps; Grid.of() reads values")
            if abs(bound) > MAX_INT_BOUND:
                raise ParameterError(name, "it is beyond 2**62 steps; declare narrower bounds or a wider step")
        if self.lower > self.upper:
            raise ParameterError("bounds", "the lower one is above the upper one; exchange them")

    @classmethod
    def of(cls, lower: Exact, upper: Exact, step: Exact, *, values: Literal["int", "float"] = "int") -> Self:
        """The grid between two values, exactly: Grid.of("0", "100", "0.01").

        lower, upper, step: text, Decimal, int or Fraction; a float is refused, since 0.1 is not a tenth. values: what
        the column holds; "float" bounds it to 2**52 steps.

        Raises: ParameterError, also when a bound is not a multiple of the step, or is missing (None).
        """
        exact_step = exact("step", step)
        if exact_step <= 0:
            raise ParameterError("step", "it must be above 0")
        bounds = []
        for name, bound in (("lower", lower), ("upper", upper)):
            steps = _steps(name, bound, exact_step)
            if values == "float" and abs(steps) > MAX_FLOAT_BOUND:
                raise ParameterError(name, "it is beyond 2**52 steps of a float; declare a wider step")
            bounds.append(steps)
        return cls(exact_step, *bounds)

    def steps(self, name: str, value: Exact) -> int:
        """A declared value in steps, exactly. Raises: ParameterError naming it when it is no multiple of the step."""
        return _steps(name, value, self.step)

    @property
    def reach(self) -> int:
        """The most, in steps, that one value can add to a sum, either way."""
        return max(abs(self.lower), abs(self.upper))

    def quantise(self, values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64]:
        """Each value in steps: scaled, rounded half to even, then clamped. It answers for every input.

        Infinities land on the bounds. NaN has no place here and is dropped before (has_place()); one that comes all
        the same lands on the lower bound. Integers are scaled exactly. Floats are multiplied by the step's denominator
        and divided by its numerator in binary64 (each correctly rounded, value by value), so that a value within a
        few units in the last place of a half step may go to either side; which one depends on the value alone.
        """
        from dp.quantising import quantised

        return quantised(values, self.step, self.lower, self.upper)

    def as_floats(self, values: NDArray[np.float64], work: NDArray[np.float64]) -> NDArray[np.float64]:
        """quantise() of one piece, as whole numbers in float64, with NaN where there is none. Bounds
        beyond 2**53 are those of the nearest floats.

        work: at least as long as the piece; the result is its beginning. Warnings of numpy are the caller's to silence.
        """
        from dp.quantising import as_floats

        return as_floats(values, work, self.step, self.lower, self.upper)


def _steps(name: str, value: Exact, step: Fraction) -> int:
    steps = exact(name, value) / step
    if steps.denominator != 1:
        raise ParameterError(name, "it must be a multiple of the step; move it, or declare a finer step")
    return int(steps)


def exact(name: str, number: object) -> Fraction:
    """A declared number, exactly. Raises: ParameterError naming it for floats and for what is no number."""
    if isinstance(number, bool) or not isinstance(number, int | str | Decimal | Fraction):
        raise ParameterError(name, "declare it as text, Decimal, int or Fraction (it is never read from the data)")
    if isinstance(number, int | Fraction):
        return Fraction(number)
    if not _NUMBER.fullmatch(str(number)):
        raise ParameterError(name, "it is not a plain finite number; write one such as '0.01'")
    return Fraction(str(number))
