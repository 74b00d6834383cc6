from math import exp, sqrt

import numpy as np
import pytest
from scipy import stats

from dp.selftest.law import Law
from tests.dp.goodness_of_fit import FALSE_ALARM, gaussian, laplace
from tests.dp.noise.choosing import probabilities


@pytest.mark.parametrize("scale", [0.7, 10.0, 1000 / 3])
def test_the_laws_are_the_distributions_of_the_tests(scale: float) -> None:
    for law, cumulative in ((Law.laplace(scale), laplace(scale)), (Law.gaussian(scale), gaussian(scale))):
        assert sum(law.masses) == pytest.approx(1)
        for z in range(-round(4 * scale), round(4 * scale) + 1, max(1, round(scale / 5))):
            assert sum(law.masses[: z - law.lowest + 1]) == pytest.approx(cumulative(z), abs=1e-12)


def test_the_law_of_a_choice_adds_up_every_way_that_coins_fall() -> None:
    for scores in ([0], [1, 1], [3, -2, 5, 5, 0, 4]):
        assert Law.choice(scores, 0.6).masses == pytest.approx(probabilities(scores, 0.6))


def test_the_law_of_what_is_told_has_the_ratio_of_epsilon() -> None:
    masses = Law.told(2, 4, 1.5).masses
    assert sum(masses) == pytest.approx(1)
    assert [mass / masses[0] for mass in masses] == pytest.approx([1, 1, exp(1.5), 1])


def test_draws_of_a_law_fit_it_and_no_other() -> None:
    drawn = np.round(stats.norm.rvs(scale=20, size=20_000, random_state=7)).astype(int).tolist()
    assert Law.gaussian(20).fit(drawn).p_value > FALSE_ALARM
    for other in (Law.gaussian(18), Law.gaussian(22), Law.laplace(20 / sqrt(2))):
        assert other.fit(drawn).p_value < FALSE_ALARM


def test_a_heavy_tail_is_seen_by_the_small_cells_at_the_ends() -> None:
    drawn = np.round(stats.norm.rvs(scale=20, size=20_000, random_state=7)).astype(int).tolist()
    assert Law.gaussian(20).fit([*drawn, *[200] * 30]).p_value < FALSE_ALARM
    assert Law.gaussian(20).fit([*drawn, *[-(10**9)] * 30]).p_value < FALSE_ALARM
