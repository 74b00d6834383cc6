from datetime import timedelta
from fractions import Fraction

import pytest

from tests.vault.watching.logs import HOUR, POLICY, asked, entry
from vault.watching.thresholds import Thresholds
from vault.watching.tiny_charges import tiny_charges

FIVE_A_DAY = Thresholds(tiny=Fraction(1, 100), tiny_count=5, tiny_within=timedelta(days=1))


def test_many_tiny_charges_of_one_principal_in_a_day_are_told() -> None:
    log = asked(*(entry(n, f"count(*) where year = {n}", epsilon="0.01") for n in range(1, 7)))
    (one,) = tiny_charges(log, POLICY.dataset, FIVE_A_DAY)
    assert (one.code, one.principals, one.count, one.entries) == ("tiny-charges", ("ann",), 6, (1, 2, 3, 4, 5, 6))
    assert one.sentence.startswith(
        "ann asked 6 questions of dataset visits within 1d, each for at most 1 % of its lifetime, epsilon 0.06 together"
    )
    assert len(one.texts) == 6


@pytest.mark.parametrize(
    "log",
    [
        [entry(n, "count(*)", epsilon="0.01") for n in range(4)],
        [entry(n, "count(*)", epsilon="0.011") for n in range(9)],
        [entry(n, "count(*)", epsilon="0.01", at=n * 6 * HOUR) for n in range(9)],
        [entry(n, "count(*)", epsilon="0.01", who=f"analyst {n}") for n in range(9)],
        [entry(n, "count(*)", epsilon=None, rho=10**9) for n in range(9)],
    ],
    ids=["too few", "too dear", "too slow", "of several", "much rho"],
)
def test_others_are_not(log: list[object]) -> None:
    assert not list(tiny_charges(asked(*log), POLICY.dataset, FIVE_A_DAY))  # type: ignore[arg-type]


def test_the_fullest_time_is_told_wherever_it_begins() -> None:
    slow = [entry(n, "count(*)", epsilon="0.01", at=n * 30 * HOUR) for n in range(4)]
    fast = [entry(10 + n, "count(*)", epsilon="0.01", at=200 * HOUR + n) for n in range(7)]
    (one,) = tiny_charges(asked(*slow, *fast), POLICY.dataset, FIVE_A_DAY)
    assert one.entries == tuple(range(10, 17))


def test_of_gaussian_noise_the_rho_is_looked_at() -> None:
    log = asked(*(entry(n, "count(*)", epsilon=None, rho=1000) for n in range(5)))
    (one,) = tiny_charges(log, POLICY.dataset, FIVE_A_DAY)
    assert one.count == 5
