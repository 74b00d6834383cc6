"""Figures: what was spent until the end is what was before, and what the quarter spent."""

from tests.vault.reporting.entries import at, charge, collected


def test_until_the_end_is_before_and_in_the_quarter() -> None:
    (visits,) = collected([charge(at(6, 1), 1), charge(at(7, 1), 2)]).datasets
    assert visits.until_end == visits.before.plus(visits.spent)
    assert visits.until_end.nano_epsilon == 3
