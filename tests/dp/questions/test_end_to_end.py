"""End to end at epsilon 1: from rows to released numbers, the odds of the worst event differ by e and by no more.

Each group of a question is a run of its own: it is empty on the one side, and on the other has one unit whose row moves
every part by its whole sensitivity. The event is that every part comes out at least as large as with that unit. With
small bounds it is likely enough on both sides to be counted: the ratio is exp(epsilon), exactly.

At full size (scripts/soak) a noise that spends 10 % too much is found in 997 of 1,000 runs, and a sound one is taken
for such in one of a million; at the normal size, a twentieth or less of it, one that spends twice what it says.
"""

from collections.abc import Callable
from fractions import Fraction
from math import log, sqrt

import pytest

from dp.answer import Answer, GroupAnswer
from dp.caps import Caps
from dp.grid import Grid
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.question import Question, release
from dp.questions.variance import Variance
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row
from tests.sizes import sized

SMALL = Grid.of(0, 2, 1)  # the mid-point is 1 and the reach 1: a row of 2 moves deviations, squares and count by 1
FALSE_ALARM = 4.7534  # standard deviations: one in a million
MISSED = 2.75  # standard deviations: three in a thousand
GROUPS = 1_000


def of_count(group: GroupAnswer) -> bool:
    return group.value >= 1


def of_mean(group: GroupAnswer) -> bool:
    told = {part.name: part.value for part in group.parts}
    return told["count"] >= 1 and told["sum"] - told["count"] >= 1


def of_variance(group: GroupAnswer) -> bool:
    told = {part.name: part.value for part in group.parts}
    deviations = told["sum"] - told["count"]
    return of_mean(group) and told["sum of squares"] - 2 * deviations - told["count"] >= 1


CASES = [
    (Count(Caps(1), GROUPS), of_count, sized(1_000, 20_000)),
    (Mean(Caps(1), SMALL, GROUPS), of_mean, sized(2_000, 49_000)),
    (Variance(Caps(1), SMALL, GROUPS), of_variance, sized(3_000, 107_000)),
]


def log_ratio(question: Question, event: Callable[[GroupAnswer], bool], price: Price, runs: int) -> tuple[float, float]:
    """Of how often the event happens with the unit and without it; and the standard deviation of that."""
    rows = [Row(group, group, 0, 2.0) for group in range(GROUPS)]
    shares = []
    for data in (rows, []):
        aggregates = aggregates_of(question, data)
        answers: list[Answer] = [release(question, "", aggregates, price) for _ in range(runs // GROUPS)]
        shares.append(sum(event(group) for answer in answers for group in answer.groups) / runs)
    return log(shares[0] / shares[1]), sqrt(sum((1 - share) / share for share in shares) / runs)


@pytest.mark.parametrize(("question", "event", "runs"), CASES, ids=["count", "mean", "variance"])
def test_the_odds_differ_by_e_and_by_no_more(
    question: Question, event: Callable[[GroupAnswer], bool], runs: int
) -> None:
    ratio, deviation = log_ratio(question, event, Price.pure(10**9), runs)
    assert abs(ratio - 1) < FALSE_ALARM * deviation


@pytest.mark.parametrize(("question", "event", "runs"), CASES, ids=["count", "mean", "variance"])
def test_noise_that_is_too_small_is_found(question: Question, event: Callable[[GroupAnswer], bool], runs: int) -> None:
    """The power that the size was chosen for: what claims epsilon 1 and spends more."""
    spent = sized(2 * 10**9, 11 * 10**8)
    ratio, deviation = log_ratio(question, event, Price.pure(spent), runs)
    assert abs(ratio - float(Fraction(spent, 10**9))) < FALSE_ALARM * deviation
    assert spent / 10**9 - 1 > (FALSE_ALARM + MISSED) * deviation  # so the test above would have failed
