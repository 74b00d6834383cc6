from fractions import Fraction

import numpy as np

from dp.noise.random_source import OperatingSystemRandom
from dp.questions.mechanisms import RandomMechanisms
from tests.dp.goodness_of_fit import FALSE_ALARM, p_value
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

HUSHED = Fraction(1, 10**12)  # so little noise that there is none


def test_each_total_gets_noise_of_its_own_and_of_the_scale_it_was_told() -> None:
    runs = sized(5_000, 200_000)
    noisy = RandomMechanisms(OperatingSystemRandom()).laplace(range(runs), Fraction(5, 2))
    assert p_value([noise - total for total, noise in enumerate(noisy)], 2.5) > FALSE_ALARM


def test_gaussian_noise_has_the_variance_it_was_told() -> None:
    runs = sized(5_000, 200_000)
    noisy = RandomMechanisms(OperatingSystemRandom()).gaussian([7] * runs, Fraction(9))
    assert abs(np.mean(noisy) - 7) < 5 * 3 / runs**0.5
    assert abs(np.var(noisy) - 9) < 5 * 9 * (2 / runs) ** 0.5


def test_without_noise_to_speak_of_the_totals_and_the_best_come_out() -> None:
    mechanisms = RandomMechanisms(SeededRandom(1))
    assert mechanisms.laplace([3, -4], HUSHED) == (3, -4)
    assert mechanisms.gaussian([3, -4], HUSHED) == (3, -4)
    assert mechanisms.best(np.array([-3, 5, 4]), Fraction(10**12)) == 1


def test_only_keys_that_reach_the_threshold_are_told_in_their_own_order() -> None:
    counts = {b"z": 9, b"a": 5, b"m": 4, b"": 5}
    assert list(RandomMechanisms(SeededRandom(1)).reaching(counts, HUSHED, 5).items()) == [(b"", 5), (b"a", 5), (b"z", 9)]  # fmt: skip  # noqa: E501
    assert RandomMechanisms(SeededRandom(1)).reaching({}, HUSHED, 2) == {}


def test_what_is_told_of_a_key_is_the_count_that_reached_the_threshold() -> None:
    told = RandomMechanisms(SeededRandom(3)).reaching({b"%d" % n: 6 for n in range(400)}, Fraction(3), 7)
    assert 50 < len(told) < 350
    assert min(told.values()) == 7
    assert len(set(told.values())) > 3
