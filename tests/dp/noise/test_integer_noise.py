from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.errors import ParameterError
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.integer_noise import add_noise, noise_scale
from tests.dp.seeded import SeededRandom


@given(sensitivity=st.integers(1, 2**124), nano=st.integers(1, 10**18))
def test_the_scale_times_what_is_charged_is_the_sensitivity(sensitivity: int, nano: int) -> None:
    assert noise_scale(sensitivity, nano) * Fraction(nano, 10**9) == sensitivity


@given(totals=st.lists(st.integers(-(2**200), 2**200), max_size=20), seed=st.integers(0, 2**32))
def test_the_noise_does_not_know_the_totals(totals: list[int], seed: int) -> None:
    scale = Fraction(7, 3)
    noisy = add_noise(totals, scale, SeededRandom(seed))
    alone = sample_many(scale, len(totals), SeededRandom(seed))
    assert noisy == tuple(total + z for total, z in zip(totals, alone, strict=True))
    assert all(type(z) is int for z in noisy)


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_without_sensitivity_there_is_no_scale(sensitivity: int) -> None:
    with pytest.raises(ValueError, match="sensitivity"):
        noise_scale(sensitivity, 1)


@pytest.mark.parametrize("nano", [0, -1, 10**18 + 1, 1.0, True])
def test_what_cannot_be_charged_scales_no_noise(nano: int) -> None:
    with pytest.raises(ParameterError):
        noise_scale(1, nano)
