"""By record and replay: no question loses more about a unit than its price, and broken ones are caught doing so."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dp.bounding import Bounded
from dp.caps import Caps
from dp.chunk import Chunk
from dp.grid import Grid
from dp.price import Price
from dp.questions.count import Count
from dp.questions.count_distinct import CountDistinct
from dp.questions.count_units import CountUnits
from dp.questions.histogram import Histogram
from dp.questions.mean import Mean
from dp.questions.part import Part
from dp.questions.quantiles import Quantiles
from dp.questions.question import Question
from dp.questions.standard_deviation import StandardDeviation
from dp.questions.sum import Sum
from dp.questions.top_groups import TopGroups
from dp.questions.variance import Variance
from tests.dp.questions.every import FRACTIONS, GAUSSIAN, PURE, additive, choosing, edges_of
from tests.dp.questions.replay import assert_private, losses
from tests.dp.rows import HOSTILE_FLOATS, HOSTILE_INTS, Row, any_rows
from tests.pairwise import covering
from tests.sizes import sized

CAPS = st.builds(Caps, st.integers(1, 3), st.integers(1, 4))
FLOAT_GRIDS = st.sampled_from(
    [Grid.of(0, 100, 1), Grid.of("-0.05", "100", "0.01"), Grid.of(5, 5, 5), Grid.of(-7, -3, 1), Grid.of(0, 2**52, 1)]
)
INT_GRIDS = st.sampled_from(
    [Grid.of(0, 100, 1), Grid.of(0, 2**62, 1), Grid.of(-(2**62), 2**62, 1), Grid.of(-(2**62), -3, 1), Grid.of(-5, 5, 5)]
)
EXAMPLES = sized(10, 2_000)


@st.composite
def hostile_rows(draw: st.DrawFn, *, floats: bool = True) -> list[Row]:
    """Few rows or none, and sometimes one unit with very many."""
    rows = draw(any_rows(floats=floats))
    for _ in range(draw(st.integers(0, 1))):
        value = draw(st.sampled_from(HOSTILE_FLOATS if floats else HOSTILE_INTS))
        unit, group = draw(st.integers(0, 4)), draw(st.integers(0, 4))
        rows += [Row(unit, (group + tie % 2) % 5, tie, value) for tie in range(draw(st.sampled_from([20, 300])))]
    return rows


@given(rows=hostile_rows(), grid=FLOAT_GRIDS, caps=CAPS, n_groups=st.integers(1, 5), price=st.sampled_from([PURE, GAUSSIAN]))  # fmt: skip  # noqa: E501
@settings(deadline=None, max_examples=EXAMPLES)
def test_no_additive_question_of_floats_loses_more_than_its_price(
    rows: list[Row], grid: Grid, caps: Caps, n_groups: int, price: Price
) -> None:
    for question in additive(grid, caps, n_groups):
        assert_private(question, rows, price)


@given(rows=hostile_rows(floats=False), grid=INT_GRIDS, caps=CAPS, n_groups=st.integers(1, 5), price=st.sampled_from([PURE, GAUSSIAN]))  # fmt: skip  # noqa: E501
@settings(deadline=None, max_examples=EXAMPLES)
def test_no_additive_question_of_integers_loses_more_than_its_price(
    rows: list[Row], grid: Grid, caps: Caps, n_groups: int, price: Price
) -> None:
    for question in additive(grid, caps, n_groups):
        assert_private(question, rows, price, floats=False)


@given(rows=hostile_rows(), caps=CAPS, n_groups=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=EXAMPLES)
def test_no_choice_loses_more_than_its_price(rows: list[Row], caps: Caps, n_groups: int, seed: int) -> None:
    for question in choosing(Grid.of(-5, 20, 1), caps, n_groups):
        assert_private(question, rows, PURE, seed=seed)


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("grid", [Grid.of(-(2**52), 2**52, 1), Grid.of(0, 2**16, 1)])
def test_a_choice_among_very_many_candidates_loses_no_more(grid: Grid, floats: bool) -> None:
    rows = [Row(unit, 0, unit, value) for unit, value in enumerate([-(2**60), 2**60, 5, 2**33])]
    assert_private(Quantiles(Caps(1), grid, FRACTIONS), rows, PURE, floats=floats)


@pytest.mark.parametrize(
    ("grid", "caps", "price"),
    covering(
        [Grid.of(0, 100, 1), Grid.of(-100, 3, 1), Grid.of(-7, -3, 1), Grid.of(0, 2**52, 1)],
        [Caps(1), Caps(3), Caps(1, 3), Caps(2, 3), Caps(2, 9)],
        [PURE, GAUSSIAN],
        together=sized(1, 3),
    ),
)
def test_one_unit_with_extreme_values_loses_all_of_the_price_and_no_more(grid: Grid, caps: Caps, price: Price) -> None:
    """So no sensitivity is larger than it has to be."""
    extremes = [grid.lower - 1, grid.upper + 1, grid.lower, (grid.lower + grid.upper) // 2]
    for question in additive(grid, caps, 4):
        spread = [Row(0, group, tie, value) for group in range(4) for tie, value in enumerate(edges_of(grid) * 4)]
        lost = losses(question, spread, price)
        for extreme in extremes:
            lost += losses(question, [Row(0, group, tie, extreme) for group in range(4) for tie in range(5)], price)
        most = max(loss.epsilon * 10**9 for loss in lost) if price is PURE else max(loss.rho * 10**9 for loss in lost)
        asked = price.nano_rho if price.nano_epsilon is None else price.nano_epsilon
        if isinstance(question, Variance):  # its extremes of deviations and squares are not of one value, if r is odd
            assert 0.9 * asked < most <= asked
        elif isinstance(question, CountDistinct):
            assert most <= asked
        else:
            assert most == asked


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("extreme", [-1e9, 1e9])
def test_one_unit_can_lose_all_of_the_price_of_a_choice(fraction: Fraction, extreme: float) -> None:
    """The candidates below and above the quantile move the opposite way."""
    question = Quantiles(Caps(3, 2), Grid.of(0, 100, 1), (fraction,), 4)
    rows = [Row(0, group, tie, extreme) for group in range(4) for tie in range(5)]
    lost = [loss.epsilon for loss in losses(question, [*rows, *COMPANY], PURE)]
    p, q = fraction.numerator, fraction.denominator
    assert max(lost) == Fraction(q - p if extreme < 0 else p, max(p, q - p))


def test_one_unit_can_lose_all_of_the_price_of_the_largest_groups() -> None:
    rows = [Row(0, group, tie) for group in range(4) for tie in range(5)]
    question = TopGroups(Caps(3, 2), 2, 4)
    assert max(losses(question, [*rows, *COMPANY], PURE, seed=seed)[0].epsilon for seed in range(20)) == 1


# Broken questions, each in one of the ways in which such code was broken elsewhere.


def halved(kind: type[Any]) -> type[Any]:
    """Broken: claims half of the sensitivity it should."""

    def parts(self: Any) -> tuple[Part, ...]:
        return tuple(Part(part.name, -(-part.most // 2), part.groups, part.unit) for part in kind.parts.fget(self))

    return type(f"Halved{kind.__name__}", (kind,), {"__slots__": (), "parts": property(parts)})


def of_one_group(kind: type[Any]) -> type[Any]:
    """Broken: forgets that a unit can be in several groups."""

    def parts(self: Any) -> tuple[Part, ...]:
        return tuple(Part(part.name, part.most, 1, part.unit) for part in kind.parts.fget(self))

    return type(f"OneGroup{kind.__name__}", (kind,), {"__slots__": (), "parts": property(parts)})


class HalvedQuantiles(Quantiles):
    """Broken: takes its scores for monotone."""

    __slots__ = ()

    def exponents(self, price: Price) -> tuple[Fraction, ...]:
        return tuple(2 * exponent for exponent in Quantiles.exponents(self, price))


class QuantilesOfOneGroup(Quantiles):
    """Broken: spends all of epsilon on each group."""

    __slots__ = ()

    def exponents(self, price: Price) -> tuple[Fraction, ...]:
        return tuple(self.caps.groups * exponent for exponent in Quantiles.exponents(self, price))


class HalvedTopGroups(TopGroups):
    """Broken: each choice costs what all of them should."""

    __slots__ = ()

    def a_choice(self, price: Price) -> int:
        return 2 * TopGroups.a_choice(self, price)

    def of_counts(self, price: Price) -> Any:
        return TopGroups.of_counts(TopGroups(self.caps, self.m, self.n_groups), price)


class UnclampedGrid(Grid):
    """Broken: rounds and does not clamp."""

    __slots__ = ()

    def quantise(self, values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64]:
        return np.rint(np.clip(np.nan_to_num(values), -1e9, 1e9)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Rebound:
    """Broken: a question that does something else to the rows before it bounds them."""

    question: Question
    how: Callable[[list[Chunk]], list[Chunk]]

    def __getattr__(self, name: str) -> object:
        return getattr(self.question, name)

    def bound(self, chunks: Iterable[Chunk], salt: bytes) -> Bounded:
        return self.question.bound(self.how(list(chunks)), salt)


def rows_as_units(chunks: list[Chunk]) -> list[Chunk]:
    """Broken: the caps hold for a row, not for a person."""
    return [Chunk(np.arange(len(c)), c.group, c.tie, c.value) for c in chunks]


def all_lost_to_nan(chunks: list[Chunk]) -> list[Chunk]:
    """Broken: one NaN makes the whole answer something else."""
    return [] if any(c.value is not None and np.isnan(c.value).any() for c in chunks) else chunks


NEAR = Grid.of(0, 100, 1)
WIDE = UnclampedGrid(Fraction(1), 0, 100)
ADDITIVE = (Count, CountUnits, CountDistinct, Sum, Histogram, Mean, Variance, StandardDeviation)


def made(kind: type[Any], grid: Grid = NEAR, rows: int = 2, groups: int = 2) -> Any:
    caps = Caps(rows, groups)
    if issubclass(kind, Count):
        return kind(caps, 4)
    if issubclass(kind, CountUnits):
        return kind(Caps(1, caps.groups), 4)
    if issubclass(kind, Histogram):
        return kind(caps, grid, (0, 40, 60, 100), 4)
    if issubclass(kind, Quantiles):
        return kind(caps, grid, (Fraction(1, 20),), 4)
    return kind(caps, 2, 4) if issubclass(kind, TopGroups) else kind(caps, grid, 4)


BROKEN = [
    *(made(halved(kind)) for kind in ADDITIVE if kind is not CountUnits),  # half of 1, rounded up, is 1
    *(made(of_one_group(kind)) for kind in ADDITIVE),
    made(HalvedQuantiles),
    made(QuantilesOfOneGroup),
    made(HalvedTopGroups),
    *(made(kind, WIDE) for kind in (Sum, Mean, Variance, StandardDeviation)),
    *(Rebound(made(kind, rows=1, groups=1), rows_as_units) for kind in (*ADDITIVE, Quantiles, TopGroups)),
    *(Rebound(made(kind), all_lost_to_nan) for kind in (*ADDITIVE, Quantiles, TopGroups)),
]
FAR = [Row(u, g, t, v) for u in range(4) for g in range(4) for t, v in enumerate([1e9, float("inf"), 1.0, 99.0])]
COMPANY = [Row(20 + 4 * n + g, g, 0, float(n % 20 * 5)) for g in range(4) for n in range(100)]
HOSTILE = [*FAR, *COMPANY, *(Row(7, g, t, 11.0 + t) for g in range(4) for t in range(4)), Row(8, 0, 0, float("nan"))]


def name_of(broken: Any) -> str:
    how = getattr(getattr(broken, "how", None), "__name__", "")
    return f"{how} {type(getattr(broken, 'question', broken)).__name__}".strip()


@pytest.mark.parametrize("broken", BROKEN, ids=name_of)
def test_a_broken_question_is_caught(broken: Question) -> None:
    with pytest.raises(AssertionError):
        assert_private(broken, HOSTILE, PURE)


@pytest.mark.parametrize("broken", [broken for broken in BROKEN if hasattr(broken, "parts")], ids=name_of)
def test_a_broken_question_is_caught_with_gaussian_noise(broken: Question) -> None:
    with pytest.raises(AssertionError):
        assert_private(broken, HOSTILE, GAUSSIAN)


@pytest.mark.parametrize("kind", [*ADDITIVE, Quantiles, TopGroups])
def test_of_the_same_rows_a_sound_question_passes(kind: type[Any]) -> None:
    assert_private(made(kind), HOSTILE, PURE)
