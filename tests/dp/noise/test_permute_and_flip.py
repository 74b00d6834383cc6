import os
from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dp.noise.permute_and_flip import permute_and_flip, top_picks
from dp.noise.random_source import OperatingSystemRandom
from tests.dp.goodness_of_fit import FALSE_ALARM, counts_p_value
from tests.dp.noise.choosing import probabilities, probabilities_in_order
from tests.dp.seeded import RecordingRandom, SeededRandom
from tests.sizes import sized

SCORES = [3, -2, 5, 5, 0, 4]


def winners(scores: list[int] | np.ndarray, exponent: Fraction, n: int) -> list[int]:
    random = OperatingSystemRandom()
    seen = Counter(permute_and_flip(scores, exponent, random) for _ in range(n))
    return [seen[index] for index in range(len(scores))]


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(5, 4)])
def test_candidates_win_as_often_as_every_way_that_coins_fall_says(exponent: Fraction) -> None:
    won = winners(SCORES, exponent, sized(8_000, 300_000))
    assert counts_p_value(won, probabilities(SCORES, float(exponent))) > FALSE_ALARM
    assert counts_p_value(won, probabilities(SCORES, 0.7 * exponent)) < FALSE_ALARM
    assert counts_p_value(won, probabilities(SCORES, 1.3 * exponent)) < FALSE_ALARM


@given(heads=st.lists(st.fractions(0, 1, max_denominator=50), max_size=4))
@settings(deadline=None, max_examples=sized(10, 40))
def test_a_fair_draw_among_the_heads_is_the_published_algorithm(heads: list[Fraction]) -> None:
    heads = [Fraction(1), *heads]
    fair = [Fraction(0)] * len(heads)
    for falls in range(2 ** len(heads)):
        likely = Fraction(1)
        for index, p in enumerate(heads):
            likely *= p if falls >> index & 1 else 1 - p
        for index in range(len(heads)):
            if likely and falls >> index & 1:
                fair[index] += likely / falls.bit_count()
    assert fair == probabilities_in_order(heads)


@given(
    scores=st.lists(st.integers(-6, 6), min_size=1, max_size=6),
    moves=st.lists(st.integers(-1, 1), min_size=6, max_size=6),
    epsilon=st.floats(0.1, 3),
)
@settings(deadline=None, max_examples=sized(37, 150))
def test_scores_that_move_by_one_change_no_probability_by_more_than_epsilon(
    scores: list[int], moves: list[int], epsilon: float
) -> None:
    neighbour = [score + move for score, move in zip(scores, moves, strict=False)]
    for one, other in zip(probabilities(scores, epsilon / 2), probabilities(neighbour, epsilon / 2), strict=True):
        assert one <= exp(epsilon) * other * (1 + 1e-9)
    monotone = [score + abs(move) for score, move in zip(scores, moves, strict=False)]
    for one, other in zip(probabilities(scores, epsilon), probabilities(monotone, epsilon), strict=True):
        assert one <= exp(epsilon) * other * (1 + 1e-9)
        assert other <= exp(epsilon) * one * (1 + 1e-9)


def test_it_chooses_what_opendp_chooses() -> None:
    os.environ.setdefault("RUST_BACKTRACE", "0")
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    n = sized(1_500, 200_000)
    oracle = opendp.m.make_noisy_max(
        opendp.vector_domain(opendp.atom_domain(T="i64")),
        opendp.linf_distance(T="i64", monotonic=True),
        opendp.max_divergence(),
        scale=2.0,
    )
    theirs = Counter(oracle(SCORES) for _ in range(n))
    table = np.array([winners(SCORES, Fraction(1, 2), n), [theirs[index] for index in range(len(SCORES))]])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > FALSE_ALARM


def test_an_array_and_a_list_choose_alike() -> None:
    scores = [int(score) for score in np.random.default_rng(3).integers(-50, 50, 300)]
    for seed in range(30):
        of_list = permute_and_flip(scores, Fraction(1, 7), SeededRandom(seed))
        assert of_list == permute_and_flip(np.array(scores), Fraction(1, 7), SeededRandom(seed))
        far = [score + 2**70 for score in scores]  # beyond 64 bits, and the same distances
        assert of_list == permute_and_flip(far, Fraction(1, 7), SeededRandom(seed))


@pytest.mark.parametrize("exponent", [Fraction(1, 10**18), Fraction(1), Fraction(10**30)])
def test_distances_of_the_widest_integers_neither_wrap_nor_round(exponent: Fraction) -> None:
    scores = np.array([-(2**63), 2**63 - 1, -(2**63)])
    for seed in range(20):
        assert permute_and_flip(scores, exponent, SeededRandom(seed)) in ({0, 1, 2} if exponent < 1 else {1})
    exact = [2**63 - 1, 2**63 - 2]
    with_large = {permute_and_flip(exact, exponent, SeededRandom(seed)) for seed in range(60)}
    assert with_large == ({0} if exponent > 1 else {0, 1})


def test_far_candidates_beyond_64_bits_choose_the_best() -> None:
    assert permute_and_flip([10**400, 0, -(10**400)], Fraction(1, 10**9), OperatingSystemRandom()) == 0


def test_the_bits_that_are_drawn_do_not_depend_on_the_scores() -> None:
    asked = []
    for seed in range(20):
        random = RecordingRandom(SeededRandom(seed))
        permute_and_flip(np.random.default_rng(seed).integers(-9, 9, 400), Fraction(3), random)
        asked.append([what for what in random.asked if what[0] == "bytes"])
    assert asked == [[("bytes", 1600)]] * 20


def test_equal_scores_win_equally_often() -> None:
    won = winners([7] * 5, Fraction(1), sized(5_000, 100_000))
    assert counts_p_value(won, [0.2] * 5) > FALSE_ALARM


def test_two_picks_are_two_choices_the_second_without_the_first() -> None:
    scores, exponent = [4, 2, 3, 0], Fraction(1, 2)
    expected = []
    for first, p in enumerate(probabilities(scores, 0.5)):
        rest = [index for index in range(4) if index != first]
        expected += [(first, rest[at], p * q) for at, q in enumerate(probabilities([scores[i] for i in rest], 0.5))]
    random = OperatingSystemRandom()
    seen = Counter(tuple(top_picks(scores, exponent, 2, random)) for _ in range(sized(5_000, 200_000)))
    assert counts_p_value([seen[a, b] for a, b, _ in expected], [p for *_, p in expected]) > FALSE_ALARM


@given(
    scores=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    seed=st.integers(0, 99),
    as_array=st.booleans(),
)
def test_all_picks_are_all_candidates(scores: list[int], seed: int, as_array: bool) -> None:
    given_scores = np.array(scores, dtype=np.int64) if as_array else scores
    before = list(scores)
    assert sorted(top_picks(given_scores, Fraction(1), len(scores), SeededRandom(seed))) == list(range(len(scores)))
    assert list(given_scores) == before


def test_what_cannot_be_chosen_from_is_refused() -> None:
    random = OperatingSystemRandom()
    for empty in ([], np.array([], dtype=np.int64)):
        with pytest.raises(ValueError, match="no candidates"):
            permute_and_flip(empty, Fraction(1), random)
    for exponent in (Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="above 0"):
            permute_and_flip([1], exponent, random)
    for scores in ([1.5, 2], np.array([1.5, 2.0]), np.array([1, 2], dtype=np.int32)):
        with pytest.raises(TypeError):
            permute_and_flip(scores, Fraction(1), random)
    for m in (0, 3):
        with pytest.raises(ValueError, match="at most as many"):
            top_picks([1, 2], Fraction(1), m, random)
