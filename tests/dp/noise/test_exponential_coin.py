from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.noise.exponential_bits import exp_bounds, tail_threshold
from dp.noise.exponential_coin import FAR, flip, flip_many
from dp.noise.random_source import OperatingSystemRandom
from tests.dp.goodness_of_fit import FALSE_ALARM, counts_p_value
from tests.dp.seeded import RecordingRandom, ScriptedRandom, SeededRandom
from tests.sizes import sized


def flipped(exponents: list[Fraction], random: object) -> list[bool]:
    near = np.array([float(x) for x in exponents])
    return flip_many(near, lambda coin: exponents[coin], random).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [Fraction(1, 2), Fraction(1), Fraction(7, 2)])
def test_a_coin_falls_as_often_as_it_should_and_not_otherwise(exponent: Fraction) -> None:
    n, few = sized(8_000, 1_000_000), sized(2_000, 50_000)
    random = OperatingSystemRandom()
    many = sum(flipped([exponent] * n, random))
    single = sum(flip(exponent, random) for _ in range(few))
    p = exp(-exponent)
    assert counts_p_value([many, n - many], [p, 1 - p]) > FALSE_ALARM
    assert counts_p_value([single, few - single], [p, 1 - p]) > FALSE_ALARM
    for other in (exp(-0.7 * exponent), exp(-1.3 * exponent)):
        assert counts_p_value([many, n - many], [other, 1 - other]) < FALSE_ALARM


def test_a_coin_without_an_exponent_always_falls_heads_and_a_hopeless_one_tails() -> None:
    assert flipped([Fraction(0)] * 1000, OperatingSystemRandom()) == [True] * 1000
    assert flipped([Fraction(10**40)] * 1000, OperatingSystemRandom()) == [False] * 1000
    # Also for the first words of all bits set or none.
    for word in (bytes(4), b"\xff" * 4):
        assert flipped([Fraction(0)], ScriptedRandom(word)) == [True]
    assert all(flip(Fraction(0), OperatingSystemRandom()) for _ in range(100))
    assert not any(flip(Fraction(10**40), OperatingSystemRandom()) for _ in range(100))
    assert flipped([Fraction(10**40)], ScriptedRandom(bytes(4), b"\1" + bytes(7))) == [False]


@given(exponent=st.builds(Fraction, st.integers(1, 10**12), st.integers(1, 10**11)), off=st.integers(-4, 4))
@settings(deadline=None, max_examples=sized(75, 300))
def test_a_word_about_the_threshold_is_decided_by_the_fraction(exponent: Fraction, off: int) -> None:
    threshold = tail_threshold(1 / exponent, 0, 32)
    word = min(max(threshold + off, 0), 2**32 - 1)
    after = tail_threshold(1 / exponent, 0, 96) & (2**64 - 1)
    for rest in {max(after - 1, 0), min(after + 1, 2**64 - 1)} - {after}:
        wanted = (word << 64 | rest) < tail_threshold(1 / exponent, 0, 96)
        # Whatever the float said within its margin, the coin falls as the exact comparison says.
        for near in (float(exponent), float(exponent) - 2.0**-35, float(exponent) + 2.0**-35):
            script = [word.to_bytes(4, "little")] + [rest.to_bytes(8, "little")] * (word == threshold)
            random = ScriptedRandom(*script)
            if exponent < FAR:
                assert flip_many(np.array([max(near, 0.0)]), lambda _: exponent, random).tolist() == [wanted]
                assert random.used_up


def test_bits_equal_to_the_threshold_again_are_followed_further() -> None:
    exponent = Fraction(3, 7)
    bits = [tail_threshold(1 / exponent, 0, size) for size in (32, 96, 160)]
    first, second, third = bits[0], bits[1] & (2**64 - 1), bits[2] & (2**64 - 1)
    for last, wanted in ((third - 1, True), (third + 1, False)):
        script = [first.to_bytes(4, "little"), second.to_bytes(8, "little"), last.to_bytes(8, "little")]
        random = ScriptedRandom(*script)
        assert flipped([exponent], random) == [wanted]
        assert random.used_up


def test_the_bits_that_are_drawn_depend_on_the_number_of_coins_alone() -> None:
    asked = []
    for seed in range(40):
        random = RecordingRandom(SeededRandom(seed))
        flipped([Fraction(seed, 3)] * 500, random)
        asked.append(random.asked)
    assert asked == [[("bytes", 2000)]] * 40


@pytest.mark.parametrize("size", [1, 3, 8, 1001])
def test_the_float_exponential_of_numpy_is_as_right_as_the_margin_needs(size: int) -> None:
    points = np.linspace(0.0, FAR, sized(200, 20_000))[1:]
    for place, computed in enumerate(np.exp(-np.resize(points, max(size, len(points))))[: len(points)].tolist()):
        low, high = exp_bounds(Fraction(points[place].item()), 40)
        assert abs(Fraction(computed) - Fraction(low)) <= Fraction(high) / 2**45
