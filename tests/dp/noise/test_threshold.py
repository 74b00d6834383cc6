import os
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.errors import ParameterError
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import OperatingSystemRandom
from dp.noise.threshold import smallest_threshold, threshold_delta
from dp.price import ATTO
from tests.dp.goodness_of_fit import FALSE_ALARM, counts_p_value
from tests.sizes import sized

NANO = 10**9


def added_up(threshold: int, epsilon: Fraction, groups: int) -> Decimal:
    """The chance that any of so many keys of one unit is shown: the noise added up, every way they can be shown too."""
    with localcontext(prec=70):
        step = Decimal(epsilon.numerator) / epsilon.denominator / groups
        a = (-step).exp()
        mass = [(1 - a) / (1 + a) * a ** abs(z) for z in range(int(200 / step))]
        shown = sum(mass[threshold - 1 :], Decimal(0))
        total = Decimal(0)
        for ways in product((True, False), repeat=groups):
            if any(ways):
                likely = Decimal(1)
                for way in ways:
                    likely *= shown if way else 1 - shown
                total += likely
        return total


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(1098612288, NANO), Fraction(3)])
@pytest.mark.parametrize(("threshold", "groups"), [(2, 1), (3, 1), (30, 1), (2, 2), (17, 2), (2, 4), (40, 4)])
def test_delta_is_the_sum_over_all_noises_and_all_ways_to_be_shown(
    threshold: int, epsilon: Fraction, groups: int
) -> None:
    told = threshold_delta(threshold, int(epsilon * NANO), groups)
    exact = Fraction(added_up(threshold, epsilon, groups))
    most = max(exact, Fraction(1, 10**29))
    assert exact * (1 - Fraction(1, 10**50)) <= told <= most * (1 + Fraction(1, 10**30))


def shown_or_not(count: int, threshold: int, scale: float) -> dict[int | None, float]:
    """Of a key with this count: with which probability it is shown as what, or (None) not at all."""
    a = exp(-1 / scale)
    seen = {z: (1 - a) / (1 + a) * a ** abs(z - count) for z in range(threshold, threshold + int(60 * scale))}
    return {**seen, None: 1 - sum(seen.values())} if count else {None: 1.0}


@pytest.mark.parametrize(("with_unit", "without"), [((1,), (0,)), ((1, 1), (0, 0)), ((1, 4), (0, 3)), ((7, 3), (6, 2))])
@pytest.mark.parametrize("threshold", [2, 5])
def test_what_is_shown_of_neighbours_is_as_private_as_the_threshold_says(
    with_unit: tuple[int, ...], without: tuple[int, ...], threshold: int
) -> None:
    epsilon, groups = 1.0, len(with_unit)
    declared = float(threshold_delta(threshold, NANO, groups))
    sides = [[shown_or_not(count, threshold, groups / epsilon) for count in counts] for counts in (with_unit, without)]
    outcomes = list(product(*({*one, *other} for one, other in zip(*sides, strict=True))))
    for some, others in (sides, sides[::-1]):
        excess = 0.0
        for outcome in outcomes:
            p = q = 1.0
            for key, of_some, of_others in zip(outcome, some, others, strict=True):
                p, q = p * of_some.get(key, 0.0), q * of_others.get(key, 0.0)
            excess += max(0.0, p - exp(epsilon) * q)
        assert excess <= declared * (1 + 1e-9)
        if some is sides[0] and not any(without):
            assert excess == pytest.approx(declared, rel=1e-9)  # and not less private than it says, either


def test_a_key_of_one_unit_is_shown_as_often_as_delta_says() -> None:
    n, threshold = sized(40_000, 1_000_000), 3
    shown = sum(1 + z >= threshold for z in sample_many(Fraction(1), n, OperatingSystemRandom()))
    for told, fits in ((threshold, True), (threshold - 1, False), (threshold + 1, False)):
        delta = float(threshold_delta(told, NANO, 1))
        assert (counts_p_value([shown, n - shown], [delta, 1 - delta]) > FALSE_ALARM) is fits


def test_opendp_tells_no_greater_delta() -> None:
    os.environ.setdefault("RUST_BACKTRACE", "0")
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    counting = opendp.t.make_count_by(
        opendp.vector_domain(opendp.atom_domain(T=str)), opendp.symmetric_distance(), TV="i64"
    )
    _, theirs = (counting >> opendp.m.then_laplace_threshold(scale=2.0, threshold=30)).map(1)
    ours = [float(threshold_delta(threshold, NANO // 2, 1)) for threshold in (30, 31)]
    # Release 0.16 tells the delta of the threshold above, opendp/opendp#2922.
    assert any(theirs == pytest.approx(delta, rel=1e-6) for delta in ours)


@given(
    nano=st.integers(10**3, 10**11),
    groups=st.one_of(st.integers(1, 50), st.integers(1, 2**31 - 1)),
    atto=st.one_of(st.integers(1, ATTO - 1), st.sampled_from([1, 10**8, 10**12])),
)
@settings(deadline=None, max_examples=sized(15, 60))
def test_the_smallest_threshold_keeps_delta_and_one_less_does_not(nano: int, groups: int, atto: int) -> None:
    threshold = smallest_threshold(nano, groups, atto)
    assert threshold_delta(threshold, nano, groups) <= Fraction(atto, ATTO)
    if threshold > 2:
        assert threshold_delta(threshold - 1, nano, groups) > Fraction(atto, ATTO)


@given(threshold=st.integers(2, 10**12), nano=st.integers(1, 10**18), groups=st.integers(1, 2**31 - 1))
@settings(deadline=None, max_examples=sized(15, 60))
def test_delta_falls_with_the_threshold_and_is_a_probability(threshold: int, nano: int, groups: int) -> None:
    delta = threshold_delta(threshold, nano, groups)
    assert Fraction(1, 10**29) / 2 <= threshold_delta(threshold + 1, nano, groups) <= delta <= 1


@pytest.mark.parametrize("threshold", [1, 0, -3, 2.0, True])
def test_a_threshold_that_shows_one_unit_is_refused(threshold: int) -> None:
    with pytest.raises(ParameterError, match="threshold"):
        threshold_delta(threshold, NANO, 1)


@pytest.mark.parametrize("atto", [0, -1, ATTO, 0.5, True])
def test_a_delta_that_no_threshold_gives_is_refused(atto: int) -> None:
    with pytest.raises(ParameterError, match="atto_delta"):
        smallest_threshold(NANO, 1, atto)


@pytest.mark.parametrize("groups", [0, -1, 1.0, True])
def test_a_unit_in_no_group_is_refused(groups: int) -> None:
    with pytest.raises(ParameterError, match="groups"):
        threshold_delta(5, NANO, groups)


def test_an_epsilon_that_cannot_be_charged_is_refused() -> None:
    with pytest.raises(ParameterError, match="nano_epsilon"):
        threshold_delta(5, 0, 1)
