"""The grid: the declared integers that values are rounded and clamped to before anything is added up."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dp.errors import ParameterError

# A float64 holds every integer up to 2**53, and every half up to 2**52: rounding is exact up to here.
MAX_FLOAT_BOUND: Final = 2**52
# The sum of two still fits a signed 64-bit integer, so that u - l and a distance from the mid-point do.
MAX_INT_BOUND: Final = 2**62
# numpy is called on pieces of this many values, so that they stay in the processor's cache.
_BLOCK: Final = 2**15

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
        steps = np.empty(len(values), dtype=np.int64)
        if values.dtype.type is np.int64:
            _quantise_ints(values.astype(np.int64, copy=False), self, steps)
        else:
            _quantise_floats(values.astype(np.float64, copy=False), self, steps)
        return steps

    def as_floats(self, values: NDArray[np.float64], work: NDArray[np.float64]) -> NDArray[np.float64]:
        """quantise() of one piece, as whole numbers in float64, with NaN where there is none. Bounds
        beyond 2**53 are those of the nearest floats.

        work: at least as long as the piece; the result is its beginning. Warnings of numpy are the caller's to silence.
        """
        times, over = float(self.step.denominator), float(self.step.numerator)
        scaled = work[: len(values)]
        np.multiply(values, times, out=scaled)
        if over != 1.0:
            np.divide(scaled, over, out=scaled)
        # The bounds are whole, so clamping before rounding gives the same, and infinities never reach a cast.
        np.clip(scaled, float(self.lower), float(self.upper), out=scaled)
        return np.rint(scaled, out=scaled)


def has_place(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Which values are numbers, or None when all are."""
    if values.dtype.type is np.int64:
        return None
    missing = np.isnan(values)
    return ~missing if missing.any() else None


def _quantise_floats(values: NDArray[np.float64], grid: Grid, steps: NDArray[np.int64]) -> None:
    # Beyond 2**53 a bound as a float may lie outside: then the integers are clamped once more.
    low = float(grid.lower)
    inexact = int(low) != grid.lower or int(float(grid.upper)) != grid.upper
    work = np.empty(min(_BLOCK, len(values)))
    with np.errstate(all="ignore"):
        for start in range(0, len(values), _BLOCK):
            scaled = grid.as_floats(values[start : start + _BLOCK], work)
            if np.isnan(scaled.min()):
                scaled[np.isnan(scaled)] = low
            steps[start : start + _BLOCK] = scaled
    if inexact:
        np.clip(steps, grid.lower, grid.upper, out=steps)


def _quantise_ints(values: NDArray[np.int64], grid: Grid, steps: NDArray[np.int64]) -> None:
    times, over = grid.step.denominator, grid.step.numerator
    # Clamping to the whole numbers just outside the bounds first changes no result, since rounding is monotone.
    low = max(grid.lower * over // times, -(2**63))
    high = min(-(-grid.upper * over // times), 2**63 - 1)
    if low > 2**63 - 1 or high < -(2**63):
        steps[:] = grid.lower if low > 0 else grid.upper
        return
    near = np.clip(values, low, high)
    if over == times == 1:
        steps[:] = near
    elif over == 1 and max(abs(low), abs(high), 1) * times < 2**63:
        np.clip(near * np.int64(times), grid.lower, grid.upper, out=steps)
    elif max(abs(low), abs(high), 1) * times + 2 * over < 2**63:  # decided by the declared grid alone
        whole, rest = np.divmod(near * np.int64(times), np.int64(over))
        rest *= 2
        odd = (whole & 1) == 1
        steps[:] = whole + ((rest > over) | ((rest == over) & odd))
        np.clip(steps, grid.lower, grid.upper, out=steps)
    else:
        exact = (round(Fraction(value * times, over)) for value in near.tolist())
        steps[:] = [min(max(value, grid.lower), grid.upper) for value in exact]


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
