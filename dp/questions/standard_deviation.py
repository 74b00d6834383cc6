"""Standard deviation: the root of the variance, rounded to a public number of binary places."""

from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Final

from dp.answer import GroupAnswer
from dp.price import Price
from dp.questions.mechanisms import Mechanisms
from dp.questions.question import Aggregates
from dp.questions.variance import Variance

# Ours: a root is told in multiples of 2**-32 of a step of the grid.
_PLACES: Final = 32


class StandardDeviation(Variance):
    """The root of the Variance of each group (SQL's STDDEV_POP), and of the ends of its interval.

    Sensitivity and noise are those of Variance: the root is taken of what was released, so it costs nothing more. It is
    rounded down to a multiple of 2**-32 of a step, the upper end of the interval up.

    Raises: ParameterError.
    """

    __slots__ = ()

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        step = self.grid.step
        return tuple(
            replace(
                group,
                value=_root(group.value / step**2) * step,
                interval=(
                    _root(group.interval[0] / step**2) * step,
                    _root(group.interval[1] / step**2, up=True) * step,
                ),
            )
            for group in Variance.release(self, aggregates, price, mechanisms)
        )


def _root(square: Fraction, *, up: bool = False) -> Fraction:
    scaled = square * 4**_PLACES
    whole = scaled.numerator // scaled.denominator
    root = isqrt(whole)
    if up and root * root != scaled:
        root += 1
    return Fraction(root, 2**_PLACES)
