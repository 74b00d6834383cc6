"""Quantising: arrays put on a grid of multiples of `step`, from lower * step to upper * step: the numpy of grid.py."""

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_floats", "has_place", "quantised"]

# numpy is called on pieces of this many values, so that they stay in the processor's cache.
_BLOCK: Final = 2**15


def quantised(
    values: NDArray[np.int64] | NDArray[np.float64], step: Fraction, lower: int, upper: int
) -> NDArray[np.int64]:
    """As Grid.quantise."""
    steps = np.empty(len(values), dtype=np.int64)
    if values.dtype.type is np.int64:
        _quantise_ints(values.astype(np.int64, copy=False), step, lower, upper, steps)
    else:
        _quantise_floats(values.astype(np.float64, copy=False), step, lower, upper, steps)
    return steps


def as_floats(
    values: NDArray[np.float64], work: NDArray[np.float64], step: Fraction, lower: int, upper: int
) -> NDArray[np.float64]:
    """As Grid.as_floats."""
    times, over = float(step.denominator), float(step.numerator)
    scaled = work[: len(values)]
    np.multiply(values, times, out=scaled)
    if over != 1.0:
        np.divide(scaled, over, out=scaled)
    # The bounds are whole, so clamping before rounding gives the same, and infinities never reach a cast.
    np.clip(scaled, float(lower), float(upper), out=scaled)
    return np.rint(scaled, out=scaled)


def has_place(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Which values are numbers, or None when all are."""
    if values.dtype.type is np.int64:
        return None
    missing = np.isnan(values)
    return ~missing if missing.any() else None


def _quantise_floats(
    values: NDArray[np.float64], step: Fraction, lower: int, upper: int, steps: NDArray[np.int64]
) -> None:
    # Beyond 2**53 a bound as a float may lie outside: then the integers are clamped once more.
    low = float(lower)
    inexact = int(low) != lower or int(float(upper)) != upper
    work = np.empty(min(_BLOCK, len(values)))
    with np.errstate(all="ignore"):
        for start in range(0, len(values), _BLOCK):
            scaled = as_floats(values[start : start + _BLOCK], work, step, lower, upper)
            if np.isnan(scaled.min()):
                scaled[np.isnan(scaled)] = low
            steps[start : start + _BLOCK] = scaled
    if inexact:
        np.clip(steps, lower, upper, out=steps)


def _quantise_ints(values: NDArray[np.int64], step: Fraction, lower: int, upper: int, steps: NDArray[np.int64]) -> None:
    times, over = step.denominator, step.numerator
    # Clamping to the whole numbers just outside the bounds first changes no result, since rounding is monotone.
    low = max(lower * over // times, -(2**63))
    high = min(-(-upper * over // times), 2**63 - 1)
    if low > 2**63 - 1 or high < -(2**63):
        steps[:] = lower if low > 0 else upper
        return
    near = np.clip(values, low, high)
    if over == times == 1:
        steps[:] = near
    elif over == 1 and max(abs(low), abs(high), 1) * times < 2**63:
        np.clip(near * np.int64(times), lower, upper, out=steps)
    elif max(abs(low), abs(high), 1) * times + 2 * over < 2**63:  # decided by the declared grid alone
        whole, rest = np.divmod(near * np.int64(times), np.int64(over))
        rest *= 2
        odd = (whole & 1) == 1
        steps[:] = whole + ((rest > over) | ((rest == over) & odd))
        np.clip(steps, lower, upper, out=steps)
    else:
        exact = (round(Fraction(value * times, over)) for value in near.tolist())
        steps[:] = [min(max(value, lower), upper) for value in exact]
