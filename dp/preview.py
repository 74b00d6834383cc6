"""A preview: how far an answer will lie from the truth, and what it costs, from public parameters alone.

It is the question's own answer, without noise, about rows that were made up: so its interval is the one that the real
answer will carry, but for what noise does to it. Nothing is read. Where it depends on how many rows a group has, that
number is assumed, or taken from a released answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dp.answer import RANK_LABEL, NoiseScale
from dp.epsilon import MAX_NANO_EPSILON
from dp.errors import ParameterError
from dp.price import Price
from dp.questions.mean import Mean
from dp.questions.quantiles import Ordered, Quantiles
from dp.questions.question import Aggregates, Question
from dp.questions.top_groups import TopGroups
from dp.questions.undeclared_groups import Keyed, UndeclaredGroups
from dp.questions.variance import Variance
from dp.search import smallest

# Ours: above it every count is as good as exact, and a product with a bound still is an int.
MAX_COUNT: Final = 10**15
PARTS: Final = 16


@dataclass(frozen=True, slots=True)
class Preview:
    """What to expect of an answer at a price, for each group.

    error: in 95 of 100 answers the noise moves the value no further, in the unit of the value; of a quantile it is in
    rows of rank (the label says so). width: of the interval. Of a mean, a variance and a standard deviation they depend
    on where the values lie: the largest among groups of `count` rows that were made up, at the middle of the bounds and
    at their ends in various shares. count: what was assumed, None where nothing had to be.
    """

    price: Price
    error: Fraction
    width: Fraction
    interval_label: str
    mechanism: str
    noise: tuple[NoiseScale, ...]
    count: int | None


def preview(question: Question, price: Price, count: int | None = None) -> Preview:
    """What to expect of the answer. count: how many rows a group has, for a mean, a variance or a standard deviation.

    Raises: ParameterError for a price that the question does not take, or a count that is missing or none.
    """
    count = _count(question, count)
    error = width = Fraction(0)
    for aggregates in _made_up(question, price, count):
        for group in question.release(aggregates, price, NoNoise()):
            low, high = group.interval
            # Of ranks the interval is around that which was asked for.
            value = Fraction(0) if question.interval_label == RANK_LABEL else group.value
            error, width = max(error, high - value, value - low), max(width, high - low)
    return Preview(
        price, error, width, question.interval_label, question.mechanism(price), question.noise(price), count
    )


def price_for(
    question: Question, error: Fraction, count: int | None = None, *, price_of: Callable[[int], Price] = Price.pure
) -> Price:
    """The smallest price at which the preview's error is at most this.

    price_of: Price.pure, Price.gaussian, or for undeclared groups one with a delta, of a number of billionths.
    Raises: ParameterError as preview() does, and where no price gives so small an error.
    """
    if not isinstance(error, Fraction | int) or error < 0:
        raise ParameterError("error", "it is a number of 0 or more, an int or a Fraction, in the unit of the answer")

    def near_enough(nano: int) -> bool:
        try:
            return preview(question, price_of(nano), count).error <= error
        except ParameterError:
            return False  # too little to be shared among the parts

    if preview(question, price_of(MAX_NANO_EPSILON), count).error > error:
        raise ParameterError("error", "no epsilon makes it so small; allow more, or assume more rows")
    return price_of(smallest(near_enough, 1, MAX_NANO_EPSILON))


class NoNoise:
    """Mechanisms for rows that were made up: they add nothing and choose the best."""

    __slots__ = ()

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:  # noqa: ARG002
        return tuple(totals)

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:  # noqa: ARG002
        return tuple(totals)

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:  # noqa: ARG002
        return int(np.argmax(scores))

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:  # noqa: ARG002
        return dict(counts)


def _count(question: Question, count: int | None) -> int | None:
    if not isinstance(question, Mean | Variance):
        return None
    if type(count) is not int or not 1 <= count <= MAX_COUNT:
        raise ParameterError("count", "say how many rows to assume in a group: an int of at least 1, from no data")
    return count


def _made_up(question: Question, price: Price, count: int | None) -> Iterator[Aggregates]:
    """Totals of one group. For a mean and a variance of several: all rows at the middle, or so many parts of them at
    the upper bound and the rest at the lower one."""
    match question:
        case Mean() | Variance():
            rows = count or 0
            low, high = (question.grid.lower - question.middle, question.grid.upper - question.middle)
            at_high_end = (rows * part // PARTS for part in range(PARTS + 1))
            for at_low, at_high in ((0, 0), *((rows - at_high, at_high) for at_high in at_high_end)):
                deviations = low * at_low + high * at_high
                if isinstance(question, Mean):
                    yield Aggregates(((deviations,), (rows,)))
                    continue
                squares = low**2 * at_low + high**2 * at_high - question.reach**2 // 2 * rows
                yield Aggregates(((deviations,), (squares,), (rows,)))
        case Quantiles():
            yield Ordered(((0,),), (np.empty(0, dtype=np.int64),))
        case TopGroups():
            yield Aggregates(((0,) * question.n_groups,))
        case UndeclaredGroups():
            yield Keyed(((question.threshold(price),),), (b"",))
        case _:
            yield Aggregates(((0,),))
