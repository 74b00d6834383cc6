"""A split: one budget shared over a batch, in integers that add up to it exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dp.epsilon import require_nano_epsilon
from dp.errors import ParameterError
from dp.nano import show
from dp.preview import price_for
from dp.questions.question import Question


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, and how far the noise may move its answer in 95 of 100 answers. count: as preview() assumes it."""

    question: Question
    error: Fraction
    count: int | None = None


def split(nano_epsilon: int, weights: Sequence[int | Fraction]) -> tuple[int, ...]:
    """Shares of a budget in proportion to the weights, each at least one billionth; together the whole of it.

    Each is its exact share rounded down; what is left over goes, a billionth each, to those that lost most.
    Raises: ParameterError for no weight, one that is not above 0, or a share that would be 0.
    """
    require_nano_epsilon(nano_epsilon)
    if not weights or not all(isinstance(weight, int | Fraction) and weight > 0 for weight in weights):
        raise ParameterError("weights", "give each question one above 0, an int or a Fraction")
    total = sum(weights)
    exact = [Fraction(nano_epsilon * weight) / total for weight in weights]
    shares = [int(share) for share in exact]
    losing = sorted(range(len(exact)), key=lambda at: (shares[at] - exact[at], at))
    for at in losing[: nano_epsilon - sum(shares)]:
        shares[at] += 1
    if min(shares) == 0:
        raise ParameterError("epsilon", f"{show(nano_epsilon)} is too little to share so; ask less, or more evenly")
    return tuple(shares)


def equal_shares(nano_epsilon: int, n: int) -> tuple[int, ...]:
    """The budget in n shares that differ by a billionth at most. Raises: ParameterError."""
    if type(n) is not int or n < 1:
        raise ParameterError("n", "it is the number of questions, an int of at least 1")
    return split(nano_epsilon, [1] * n)


def split_by_error(nano_epsilon: int, wanted: Sequence[Wanted]) -> tuple[int, ...]:
    """The budget in proportion to what each question needs for its wanted error.

    Where the budget is enough, each gets what it needs or more; where it is not, all are off by about one factor.
    Raises: ParameterError.
    """
    needed = [price_for(each.question, each.error, each.count).nano_epsilon or 0 for each in wanted]
    return split(nano_epsilon, needed)
