"""The floating-point leak: what the low bits of an answer say about the value (Mironov 2012; Haney et al. 2022).

Noise that is drawn or added in floats lands on numbers that another value cannot give. Ours is added to integers, so
that an answer is a multiple of a public step whatever the data are.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dp import Caps, Chunk, Count, Grid, Mean, Price, Question, Sum, release
from tests.sizes import sized

DRAWS = sized(4_000, 200_000)
LN_3 = 1_098_612_288


def low_bits(answers: Sequence[float]) -> float:
    """How often an answer is between 0 and 1/4 and no multiple of 2**-53: by chance never seen from x = 1."""
    small = [y for y in answers if 0 < y < 0.25]
    return sum(Fraction(y).denominator > 2**53 for y in small) / len(answers)


def finest(answers: Sequence[float]) -> int:
    """The finest power of two that an answer is a multiple of."""
    return max(Fraction(y).denominator for y in answers)


def answered(question: Question, value: float, price: Price) -> list[Fraction]:
    """One answer to each of many groups of one row with this value, end to end."""
    n = question.n_groups
    group = np.arange(n, dtype=np.int32)
    chunk = Chunk(np.arange(n), group, group.astype(np.uint64), np.full(n, value))
    aggregates = question.aggregate(question.bound([chunk], b"salt"))
    return [group.value for group in release(question, "", aggregates, price).groups]


def numpy_laplace(value: float) -> list[float]:
    return (value + np.random.default_rng().laplace(size=DRAWS)).tolist()


def test_the_low_bits_of_noise_that_is_added_in_floats_tell_the_value() -> None:
    # What the test below must be able to see: 9 % against never.
    assert low_bits(numpy_laplace(0.0)) > 0.05
    assert low_bits(numpy_laplace(1.0)) == 0
    assert finest(numpy_laplace(0.0)) > finest(numpy_laplace(1.0))


VALUES = (0.0, 1.0, 0.1, 1 / 3, 1e-300, -1e-17, float("inf"))
STEPS = [Fraction(1, 2**20), Fraction(1, 1000), Fraction(3, 7)]


@pytest.mark.parametrize("step", STEPS)
def test_sums_lie_on_the_public_step_whatever_the_value(step: Fraction) -> None:
    question = Sum(Caps(1), Grid(step, -(2**22), 2**22), DRAWS // 10)
    for value in VALUES:
        answers = answered(question, value, Price.pure(10**9))
        assert all((y / step).denominator == 1 for y in answers)
        # As floats, the form in which an answer may be read, they say no more.
        assert {round(Fraction(float(y)) / step) * step for y in answers} == set(answers)
        if step.denominator == 2**20:
            assert low_bits([float(y) for y in answers]) == 0
            assert finest([float(y) for y in answers]) == 2**20


@pytest.mark.parametrize("step", STEPS)
def test_means_are_what_two_integers_say_whatever_the_value(step: Fraction) -> None:
    question = Mean(Caps(1), Grid(step, -(2**10), 2**10 + 2), DRAWS // 40)
    for value in VALUES:
        group = np.arange(question.n_groups, dtype=np.int32)
        chunk = Chunk(group.astype(np.int64), group, group.astype(np.uint64), np.full(len(group), value))
        aggregates = question.aggregate(question.bound([chunk], b"salt"))
        for answer in release(question, "", aggregates, Price.pure(10**9)).groups:
            parts = {part.name: part.value for part in answer.parts}
            total, count = parts["sum"] / step, parts["count"]
            assert total.denominator == count.denominator == 1
            mean = 1 + (total - count) / max(1, count)
            assert answer.value == min(max(mean, -(2**10)), 2**10 + 2) * step


def test_k18_01_counts_of_none_and_of_one_are_the_same_integers_within_epsilon() -> None:
    n = sized(5_000, 20_000)
    seen = []
    for rows in (0, 1):
        question = Count(Caps(1), n)
        group = np.arange(n if rows else 0, dtype=np.int32)
        chunk = Chunk(group.astype(np.int64), group, group.astype(np.uint64))
        answers = release(question, "", question.aggregate(question.bound([chunk], b"")), Price.pure(LN_3)).groups
        assert all(answer.value.denominator == 1 for answer in answers)
        seen.append(Counter(int(answer.value) for answer in answers))
    for one, other in (seen, seen[::-1]):
        for value, times in one.items():
            if times >= 50:
                # Six standard deviations of the difference, and of a count where few are expected.
                assert other[value] > 0
                assert times <= 3 * other[value] + 6 * (times + 9 * other[value]) ** 0.5
