import inspect
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dp
from dp.answer import Answer
from dp.bounding import Bounded, Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.question import Aggregates, Question, release, release_with_random
from dp.questions.sum import Sum
from tests.dp.questions.neighbours import aggregates_of, assert_a_unit_moves_no_more_than_declared
from tests.dp.rows import SALT, Row, any_rows, chunk_of
from tests.dp.seeded import SeededRandom

CAPS = st.builds(Caps, st.integers(1, 3), st.integers(1, 4))
FLOAT_GRIDS = st.sampled_from(
    [Grid.of(0, 100, 1), Grid.of("-0.05", "100", "0.01"), Grid.of(5, 5, 5), Grid.of(-7, -3, 1), Grid.of(0, 2**52, 1)]
)
INT_GRIDS = st.sampled_from(
    [Grid.of(0, 100, 1), Grid.of(0, 2**62, 1), Grid.of(-(2**62), 2**62, 1), Grid.of(-(2**62), -3, 1), Grid.of(-5, 5, 5)]
)


def questions(grid: Grid, caps: Caps, n_groups: int) -> list[Question]:
    asked: list[Question] = [Count(caps, n_groups), Sum(caps, grid, n_groups)]
    return asked if grid.lower == grid.upper else [*asked, Mean(caps, grid, n_groups)]


@given(rows=any_rows(), grid=FLOAT_GRIDS, caps=CAPS, n_groups=st.integers(1, 5))
@settings(deadline=None, max_examples=120)
def test_a_unit_moves_no_total_of_floats_further_than_declared(
    rows: list[Row], grid: Grid, caps: Caps, n_groups: int
) -> None:
    for question in questions(grid, caps, n_groups):
        assert_a_unit_moves_no_more_than_declared(question, rows)


@given(rows=any_rows(floats=False), grid=INT_GRIDS, caps=CAPS, n_groups=st.integers(1, 5))
@settings(deadline=None, max_examples=120)
def test_a_unit_moves_no_total_of_integers_further_than_declared(
    rows: list[Row], grid: Grid, caps: Caps, n_groups: int
) -> None:
    for question in questions(grid, caps, n_groups):
        assert_a_unit_moves_no_more_than_declared(question, rows, floats=False)


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("caps", [Caps(1), Caps(3), Caps(1, 3), Caps(2, 3), Caps(2, 9)])
@pytest.mark.parametrize("grid", [Grid.of(0, 100, 1), Grid.of(-100, 3, 1), Grid.of(-7, -3, 1), Grid.of(0, 2**52, 1)])
def test_one_unit_with_extreme_values_reaches_the_sensitivity(grid: Grid, caps: Caps, floats: bool) -> None:
    for question in questions(grid, caps, 4):
        reached = []
        for extreme in (9 * 10**15, -9 * 10**15):
            rows = [Row(0, group, tie, extreme) for group in range(4) for tie in range(5)]
            totals = aggregates_of(question, rows, floats=floats).totals
            reached.append([sum(abs(total) for total in part) for part in totals])
        assert tuple(max(part) for part in zip(*reached, strict=True)) == question.sensitivity()


@dataclass(frozen=True, slots=True)
class HalfSensitivity:
    """Broken: a question that claims half of what it should."""

    question: Question

    def __getattr__(self, name: str) -> object:
        return getattr(self.question, name)

    def sensitivity(self) -> tuple[int, ...]:
        return tuple(each // 2 for each in self.question.sensitivity())


class UnclampedGrid(Grid):
    """Broken: rounds and does not clamp."""

    __slots__ = ()

    def quantise(self, values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64]:
        return np.rint(np.clip(np.nan_to_num(values), -1e15, 1e15)).astype(np.int64)


class RowsAsUnits(Sum):
    """Broken: the caps hold for a row, not for a person."""

    __slots__ = ()

    def bound(self, chunks: object, salt: bytes) -> Bounded:
        own = [Chunk(np.arange(len(c)), c.group, c.tie, c.value) for c in chunks]  # type: ignore[attr-defined]
        return Sum.bound(self, own, salt)


class LateNan(Sum):
    """Broken: a NaN makes the whole sum something else."""

    __slots__ = ()

    def bound(self, chunks: object, salt: bytes) -> Bounded:
        several = list(chunks)  # type: ignore[call-overload]
        if any(np.isnan(c.value).any() for c in several):
            return Sum.bound(self, [], salt)
        return Sum.bound(self, several, salt)


FAR = [Row(u, g, t, v) for u in range(3) for g in range(4) for t, v in enumerate([1e9, 100.0, float("inf"), 99.0])]
NEAR = Grid.of(0, 100, 1)


@pytest.mark.parametrize(
    "broken",
    [
        HalfSensitivity(Count(Caps(2, 2), 4)),
        HalfSensitivity(Sum(Caps(2, 2), NEAR, 4)),
        HalfSensitivity(Mean(Caps(2, 2), NEAR, 4)),
        Sum(Caps(2, 2), UnclampedGrid(Fraction(1), 0, 100), 4),
        RowsAsUnits(Caps(1, 1), NEAR, 4),
        LateNan(Caps(2, 2), NEAR, 4),
    ],
    ids=lambda broken: type(broken).__name__,
)
def test_a_broken_question_would_be_caught(broken: Question) -> None:
    rows = [*FAR, Row(3, 0, 0, float("nan"))]
    with pytest.raises(AssertionError):
        assert_a_unit_moves_no_more_than_declared(broken, rows)


@given(
    rows=any_rows(), grid=FLOAT_GRIDS, caps=CAPS, n_groups=st.integers(1, 5), nano=st.sampled_from([2, 10**9, 10**18])
)
@settings(deadline=None, max_examples=100)
def test_whatever_the_data_every_declared_group_answers(
    rows: list[Row], grid: Grid, caps: Caps, n_groups: int, nano: int
) -> None:
    for question in questions(grid, caps, n_groups):
        answer = release(question, "label", aggregates_of(question, rows), Price.pure(nano))
        assert [group.group for group in answer.groups] == list(range(n_groups))
        assert all(group.interval[0] <= group.value <= group.interval[1] for group in answer.groups)
        assert Answer.from_json(answer.to_json()) == answer
        assert sum(noise.nano_epsilon for noise in answer.noise) == answer.nano_epsilon == nano


def test_no_rows_at_all_answer_like_any_others() -> None:
    for question in questions(NEAR, Caps(1), 3):
        assert len(release(question, "", question.aggregate(question.bound([], SALT)), Price.pure(10**9)).groups) == 3


def test_a_million_rows_of_one_person_answer_like_any_others() -> None:
    n = 10**6
    value = np.resize([np.nan, np.inf, -np.inf, 1e308, -0.0], n)
    chunk = Chunk(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.arange(n, dtype=np.uint64), value)
    for question in questions(NEAR, Caps(2), 1):
        aggregates = question.aggregate(question.bound([chunk], SALT))
        assert all(
            abs(total[0]) <= declared for total, declared in zip(aggregates.totals, question.sensitivity(), strict=True)
        )


def test_k20_03_declared_groups_answer_and_others_do_not() -> None:
    groups = {"a": 0, "b": 1, "zz": 2}
    rows = [Row(unit, groups.get(label, -1), 0) for unit, label in enumerate("aabbbcc")]
    question = Count(Caps(1), len(groups))
    aggregates = aggregates_of(question, rows)
    assert aggregates.totals == ((2, 3, 0),)
    answer = release(question, "count by label", aggregates, Price.pure(10**9))
    assert [group.group for group in answer.groups] == [0, 1, 2]


def test_the_answer_carries_what_its_reader_may_know() -> None:
    question = Sum(Caps(2, 3), Grid.of("0", "10", "0.1"), 4)
    answer = release(question, "sum(x) by y", aggregates_of(question, []), Price.pure(5 * 10**8))
    assert (answer.question, answer.nano_epsilon, answer.delta, answer.caps) == (
        "sum(x) by y",
        5 * 10**8,
        0,
        Caps(2, 3),
    )
    assert answer.noise[0].scale == Fraction(2 * 3 * 10 * 2)  # c*k*max(|L|,|U|) / epsilon, in the unit of x
    assert (answer.mechanism, answer.interval_label) == ("discrete Laplace", "noise only, 95 %")


def test_the_same_bits_give_the_same_answer() -> None:
    question = Mean(Caps(1), NEAR, 2)
    aggregates = aggregates_of(question, FAR)
    first, second = (
        release_with_random(question, "", aggregates, Price.pure(7), random=SeededRandom(3)) for _ in range(2)
    )
    assert first == second != release_with_random(question, "", aggregates, Price.pure(7), random=SeededRandom(4))


def test_secret_totals_do_not_show_themselves() -> None:
    assert "41" not in repr(Aggregates(((41,),)))


PROGRAM = """
import random, numpy
random.seed(0); numpy.random.seed(0)
from dp import Aggregates, Caps, Count, Price, release
print([int(g.value) for g in release(Count(Caps(1), 20), "", Aggregates(((0,) * 20,)), Price.pure(1000)).groups])
"""


def test_k18_03_seeds_of_other_generators_do_not_set_the_noise() -> None:
    root = Path(dp.__file__).parents[1]
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert runs[0].startswith("[")
    assert runs[0] != runs[1]


def test_k18_03_nothing_on_the_front_door_takes_a_seed() -> None:
    for name in dp.__all__:
        exported = getattr(dp, name)
        if name == "Question" or issubclass(exported if isinstance(exported, type) else int, Exception):
            continue
        parameters = " ".join(inspect.signature(exported).parameters)
        assert not any(word in parameters for word in ("seed", "random", "rng", "generator", "source")), name


@pytest.mark.parametrize("n_groups", [0, -1, True, 1.5, None, 2**31])
def test_a_question_has_a_number_of_groups(n_groups: int) -> None:
    with pytest.raises(ParameterError, match=r"^n_groups: "):
        Count(Caps(1), n_groups)


@pytest.mark.parametrize("caps", [None, 1, (1, 1)])
def test_a_question_has_caps(caps: Caps) -> None:
    with pytest.raises(ParameterError, match=r"^caps: "):
        Sum(caps, NEAR)


@pytest.mark.parametrize("kind", [Sum, Mean])
@pytest.mark.parametrize("grid", [None, (0, 100), "0..100"])
def test_k19_07_without_declared_bounds_there_is_no_question(kind: type[Sum] | type[Mean], grid: Grid) -> None:
    with pytest.raises(ParameterError, match=r"^bounds: "):
        kind(Caps(1), grid)
    assert inspect.signature(kind).parameters["grid"].default is inspect.Parameter.empty


@pytest.mark.parametrize("kind", [Sum, Mean])
def test_rows_that_were_bounded_without_values_are_refused(kind: type[Sum] | type[Mean]) -> None:
    question = kind(Caps(1), NEAR)
    with pytest.raises(ParameterError, match=r"^bounded: "):
        question.aggregate(Count(Caps(1)).bound([chunk_of(FAR)], SALT))


def test_the_caps_and_groups_of_a_question_decide_its_sensitivity() -> None:
    question = Count(Caps(2, 3), 10)
    assert question.sensitivity() == (6,)
    assert replace(question, n_groups=2).sensitivity() == (4,)
    assert replace(question, n_groups=1).sensitivity() == (2,)
