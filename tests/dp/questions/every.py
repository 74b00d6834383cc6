"""Every question that a policy could allow about such bounds, caps and groups, and the price that each takes."""

from fractions import Fraction

from dp.caps import Caps
from dp.grid import Grid
from dp.price import Price
from dp.questions.count import Count
from dp.questions.count_distinct import CountDistinct
from dp.questions.count_units import CountUnits
from dp.questions.histogram import Histogram
from dp.questions.mean import Mean
from dp.questions.quantiles import Quantiles
from dp.questions.question import Question
from dp.questions.standard_deviation import StandardDeviation
from dp.questions.sum import Sum
from dp.questions.top_groups import TopGroups
from dp.questions.variance import Variance

PURE = Price.pure(10**9)
GAUSSIAN = Price.gaussian(5 * 10**8)
FRACTIONS = (Fraction(1, 4), Fraction(1, 2), Fraction(19, 20))


def additive(grid: Grid, caps: Caps, n_groups: int) -> list[Question]:
    """Those that add noise to integers, and take Gaussian noise too."""
    asked: list[Question] = [
        Count(caps, n_groups),
        CountUnits(Caps(1, caps.groups), n_groups),
        CountDistinct(caps, grid, n_groups),
        Sum(caps, grid, n_groups),
        Histogram(caps, grid, edges_of(grid), n_groups),
    ]
    if grid.lower < grid.upper:
        asked += [kind(caps, grid, n_groups) for kind in (Mean, Variance, StandardDeviation)]
    return asked


def choosing(grid: Grid, caps: Caps, n_groups: int) -> list[Question]:
    """Those that choose one of several candidates."""
    asked: list[Question] = [TopGroups(caps, min(2, n_groups), n_groups)]
    if grid.lower < grid.upper:
        asked += [Quantiles(caps, grid, by_groups=n_groups), Quantiles(caps, grid, FRACTIONS, n_groups)]
    return asked


def edges_of(grid: Grid) -> tuple[int, ...]:
    """Some edges inside the bounds, so that a value can lie beyond them, on an edge and between two."""
    inside = sorted({grid.lower, (3 * grid.lower + grid.upper) // 4, (grid.lower + grid.upper) // 2})
    return (*inside, inside[-1] + 1)
