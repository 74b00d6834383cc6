"""Amounts as text are exact."""

from vault.reporting.amount import Amount
from vault.reporting.shown_amount import delta_of, epsilon_of, pair_of, rho_of


def test_amounts_are_shown_to_the_last_digit() -> None:
    one = Amount(3, 1_500_000_001, 2, 10**12, 0)
    assert (epsilon_of(one), rho_of(one), delta_of(one)) == ("1.500000001", "0.000000002", "0.000001")


def test_charges_without_epsilon_are_told_beside_it() -> None:
    assert epsilon_of(Amount(3, 10**9, 0, 0, 2)) == "1 and 2 without"


def test_a_pair_names_its_delta_where_there_is_one() -> None:
    assert [pair_of(pair) for pair in ((10**9, 0), (10**9, 10**12), (None, 0))] == [
        "1",
        "1 at delta 0.000001",
        "none",
    ]
