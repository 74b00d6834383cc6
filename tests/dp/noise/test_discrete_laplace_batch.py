import os
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dp.noise import discrete_laplace_batch
from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.exponential_bits import digit_threshold, tail_threshold
from dp.noise.random_source import OperatingSystemRandom
from tests.dp.goodness_of_fit import FALSE_ALARM, assert_fits, p_value
from tests.dp.seeded import RecordingRandom, ScriptedRandom, SeededRandom
from tests.sizes import sized


@pytest.mark.parametrize(
    "scale",
    [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(10, 3), Fraction(100), Fraction(2**40), Fraction(2**90, 7)],
)
def test_draws_fit_the_claimed_scale_and_no_other(scale: Fraction) -> None:
    assert_fits(sample_many(scale, sized(6_000, 1_000_000), OperatingSystemRandom()), float(scale))


def test_a_bias_of_one_in_twenty_would_be_seen() -> None:
    draws = sample_many(Fraction(10), sized(30_000, 1_000_000), OperatingSystemRandom())
    biased = [z + (i % 20 == 0) * 20 for i, z in enumerate(draws)]
    assert p_value(draws, 10.0) > FALSE_ALARM > p_value(biased, 10.0)


def test_it_draws_what_the_scalar_sampler_draws() -> None:
    scale, n = Fraction(5, 2), sized(4_000, 200_000)
    random = OperatingSystemRandom()
    many = np.array(sample_many(scale, n, random))
    single = np.array([sample_discrete_laplace(scale, random) for _ in range(n)])
    edges = [-1e9, *np.arange(-8.5, 9.5), 1e9]
    table = np.array([np.histogram(draws, edges)[0] for draws in (many, single)])
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_it_draws_what_opendp_draws(scale: float) -> None:
    os.environ.setdefault("RUST_BACKTRACE", "0")  # before its import, or each of its refusals takes 60 ms
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    n = sized(5_000, 300_000)
    oracle = opendp.m.make_laplace(
        opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64"), scale=scale
    )
    theirs = np.array(oracle([0] * n))
    ours = np.array(sample_many(Fraction(scale), n, OperatingSystemRandom()))
    edges = [-1e9, *(scale * np.arange(-6.0, 6.5, 0.5) + 0.5 - 1e-9), 1e9]
    table = np.array([np.histogram(draws, edges)[0] for draws in (ours, theirs)])
    table = table[:, table.sum(axis=0) > 0]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_small_scales_give_almost_only_zeros_and_no_error() -> None:
    assert sample_many(Fraction(1, 10**9), 1000, OperatingSystemRandom()) == [0] * 1000


def test_the_bits_that_are_drawn_depend_on_the_scale_and_the_number_alone() -> None:
    asked = []
    for seed in range(40):
        random = RecordingRandom(SeededRandom(seed))
        sample_many(Fraction(1000), 70_000 if seed == 0 else 500, random)
        asked.append(random.asked)
    assert asked[1:] == [asked[1]] * 39
    assert sum(n for _, n in asked[0]) == 140 * sum(n for _, n in asked[1])


def test_a_word_equal_to_the_threshold_is_decided_by_the_bits_after_it() -> None:
    # Scale 1/64: no digit of its own is drawn, only whether a geometric number reaches 1, with probability exp(-64).
    scale = Fraction(1, 64)
    assert tail_threshold(scale, 0, 32) == 0
    wanted = tail_threshold(scale, 0, 96)
    equal, above = bytes(4), b"\xff" * 4
    for rest, drawn in ((wanted + 1, 0), (wanted - 1, 1)):
        script = [equal + above, rest.to_bytes(8, "little")]
        if drawn:  # it reached 1 once; once more is asked
            script.append(above)
        random = ScriptedRandom(*script)
        assert sample_many(scale, 1, random) == [drawn]
        assert random.used_up


def test_bits_equal_to_the_threshold_again_are_followed_further() -> None:
    scale = Fraction(1, 64)
    first = tail_threshold(scale, 0, 96)
    second = tail_threshold(scale, 0, 160) & (2**64 - 1)
    random = ScriptedRandom(bytes(4) + b"\xff" * 4, first.to_bytes(8, "little"), (second + 1).to_bytes(8, "little"))
    assert sample_many(scale, 1, random) == [0]
    assert random.used_up


def test_a_digit_equal_to_its_threshold_is_decided_by_the_bits_after_it() -> None:
    scale = Fraction(1)  # six digits and the tail
    threshold = digit_threshold(scale, 0, 32).to_bytes(4, "little")
    after = digit_threshold(scale, 0, 96) & (2**64 - 1)
    above = b"\xff" * 4
    for rest, drawn in ((after + 1, 0), (after - 1, 1)):
        random = ScriptedRandom(threshold + above * 6 + above * 7, rest.to_bytes(8, "little"))
        assert sample_many(scale, 1, random) == [drawn]
        assert random.used_up


def test_a_geometric_number_beyond_the_last_digit_is_counted_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # With digits only up to where exp(-1/2) of the numbers go, nearly all the work is done by the tail.
    monkeypatch.setattr(discrete_laplace_batch, "_TAIL", Fraction(1, 2))
    discrete_laplace_batch._coins.cache_clear()
    try:
        for scale in (Fraction(4), Fraction(2**70)):
            draws = sample_many(scale, sized(5_000, 200_000), OperatingSystemRandom())
            assert_fits(draws, float(scale))
    finally:
        discrete_laplace_batch._coins.cache_clear()


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_is_not_above_zero_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="above 0"):
        sample_many(scale, 1, OperatingSystemRandom())


def test_no_draws_are_no_draws() -> None:
    assert sample_many(Fraction(1), 0, OperatingSystemRandom()) == []
