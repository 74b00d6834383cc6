import inspect
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dp
from dp.answer import Answer
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.price import Price
from dp.questions.count import Count
from dp.questions.count_distinct import CountDistinct
from dp.questions.mean import Mean
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.quantiles import Quantiles
from dp.questions.question import Aggregates, Question, release, release_by
from dp.questions.standard_deviation import StandardDeviation
from dp.questions.sum import Sum
from dp.questions.top_groups import TopGroups
from dp.questions.variance import Variance
from tests.dp.questions.every import GAUSSIAN, PURE, additive, choosing
from tests.dp.questions.replay import aggregates_of, loss_between
from tests.dp.rows import SALT, Row, any_rows, chunk_of
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

CAPS = st.builds(Caps, st.integers(1, 3), st.integers(1, 4))
GRIDS = st.sampled_from(
    [Grid.of(0, 100, 1), Grid.of("-0.05", "100", "0.01"), Grid.of(5, 5, 5), Grid.of(-7, -3, 1), Grid.of(0, 2**52, 1)]
)


def questions(grid: Grid, caps: Caps, n_groups: int) -> list[Question]:
    return [*additive(grid, caps, n_groups), *choosing(grid, caps, n_groups)]


FAR = [Row(u, g, t, v) for u in range(3) for g in range(4) for t, v in enumerate([1e9, 100.0, float("inf"), 99.0])]
NEAR = Grid.of(0, 100, 1)


@given(
    rows=any_rows(),
    grid=GRIDS,
    caps=CAPS,
    n_groups=st.integers(1, 5),
    price=st.sampled_from([Price.pure(12), PURE, Price.pure(10**18), Price.gaussian(3), GAUSSIAN]),
)
@settings(deadline=None, max_examples=sized(10, 1_000))
def test_whatever_the_data_every_declared_group_answers(
    rows: list[Row], grid: Grid, caps: Caps, n_groups: int, price: Price
) -> None:
    asked = additive(grid, caps, n_groups)
    for question in asked if price.nano_epsilon is None else [*asked, *choosing(grid, caps, n_groups)]:
        answer = release(question, "label", aggregates_of(question, rows), price)
        groups = [group.group for group in answer.groups]
        assert len(set(groups)) == 2 if isinstance(question, TopGroups) and n_groups > 1 else groups == list(range(question.n_groups))  # fmt: skip  # noqa: E501
        assert Answer.from_json(answer.to_json()) == answer
        assert (answer.nano_epsilon, answer.atto_delta) == (price.nano_epsilon, 0)
        spent = [noise.nano_rho if price.nano_epsilon is None else noise.nano_epsilon for noise in answer.noise]
        assert sum(spent) == (answer.nano_rho if price.nano_epsilon is None else answer.nano_epsilon)
        for group in answer.groups:
            low, high = group.interval
            assert low <= (0 if isinstance(question, Quantiles) else group.value) <= high


def test_no_rows_at_all_answer_like_any_others() -> None:
    for question in questions(NEAR, Caps(1), 3):
        answer = release(question, "", question.aggregate(question.bound([], SALT)), PURE)
        assert len(answer.groups) == (2 if isinstance(question, TopGroups) else question.n_groups)


def test_very_many_rows_of_one_person_answer_like_any_others() -> None:
    n = sized(5 * 10**4, 10**6)
    value = np.resize([np.nan, np.inf, -np.inf, 1e308, -0.0], n)
    chunk = Chunk(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.arange(n, dtype=np.uint64), value)
    for question in questions(NEAR, Caps(2), 1):
        whole, none = (question.aggregate(question.bound(chunks, SALT)) for chunks in ([chunk], []))
        assert loss_between(question, whole, none, PURE).is_within(PURE)


@pytest.mark.parametrize("question", questions(NEAR, Caps(1), 3), ids=lambda question: type(question).__name__)
def test_a_price_that_a_question_does_not_take_is_refused_before_the_data(question: Question) -> None:
    with pytest.raises(ParameterError, match=r"^price: "):
        question.noise(Price.approximate(10**9, 10**9))
    if not hasattr(question, "parts"):
        with pytest.raises(ParameterError, match=r"^price: "):
            question.noise(GAUSSIAN)


@pytest.mark.parametrize("price", [Price.pure(4 * 10**8), Price.gaussian(10**8)], ids=["pure", "gaussian"])
def test_k21_03_the_truth_lies_in_the_stated_interval_as_often_as_stated(price: Price) -> None:
    """Each group is a run of its own."""
    runs = sized(2_000, 100_000)
    for question in additive(NEAR, Caps(1), runs):
        if len(question.parts) == 1:  # type: ignore[attr-defined]
            answer = release(question, "", aggregates_of(question, []), price)
            inside = sum(group.interval[0] <= 0 <= group.interval[1] for group in answer.groups) / len(answer.groups)
            assert 0.95 - 5 * (0.95 * 0.05 / runs) ** 0.5 < inside < 0.985, question


@pytest.mark.parametrize("price", [Price.gaussian(10**7), Price.gaussian(10**9)])
def test_k21_05_the_spread_of_gaussian_noise_follows_from_rho(price: Price) -> None:
    question = Count(Caps(2, 3), sized(4_000, 100_000))
    counts = [float(group.value) for group in release(question, "", aggregates_of(question, []), price).groups]
    sigma = (2**2 * 3 * 10**9 / (2 * price.nano_rho)) ** 0.5
    assert abs(np.std(counts) / sigma - 1) < 5 / (2 * len(counts)) ** 0.5


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
    assert (answer.question, answer.nano_epsilon, answer.atto_delta, answer.caps) == (
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
    first, second, third = (
        release_by(question, "", aggregates, Price.pure(7), RandomMechanisms(SeededRandom(seed))) for seed in (3, 3, 4)
    )
    assert first == second != third


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


@pytest.mark.parametrize("kind", [Sum, Mean, Variance, StandardDeviation, Quantiles, CountDistinct])
@pytest.mark.parametrize("grid", [None, (0, 100), "0..100"])
def test_k19_07_without_declared_bounds_there_is_no_question(kind: type[Sum], grid: Grid) -> None:
    with pytest.raises(ParameterError, match=r"^bounds: "):
        kind(Caps(1), grid)
    assert inspect.signature(kind).parameters["grid"].default is inspect.Parameter.empty


@pytest.mark.parametrize("kind", [Sum, Mean, Variance, StandardDeviation, Quantiles, CountDistinct])
def test_rows_that_were_bounded_without_values_are_refused(kind: type[Sum]) -> None:
    question = kind(Caps(1), NEAR)
    with pytest.raises(ParameterError, match=r"^bounded: "):
        question.aggregate(Count(Caps(1)).bound([chunk_of(FAR)], SALT))


def test_the_caps_and_groups_of_a_question_decide_its_sensitivity() -> None:
    question = Count(Caps(2, 3), 10)
    assert [part.l1 for part in question.parts] == [6]
    assert [part.l1 for part in replace(question, n_groups=2).parts] == [4]
    assert [part.l1 for part in replace(question, n_groups=1).parts] == [2]
