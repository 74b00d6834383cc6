"""Amounts add up, in any order and grouping."""

from hypothesis import given
from hypothesis import strategies as st

from tests.vault.reporting.entries import charge
from vault.reporting.amount import NOTHING, Amount

AMOUNTS = st.builds(Amount, *[st.integers(0, 2**63)] * 5)


def test_it_is_what_an_entry_says() -> None:
    entry = charge(0, 3, nano_rho=5, atto_delta=7, unbounded=1)
    assert Amount.of(entry) == Amount(1, 3, 5, 7, 1)


@given(st.lists(AMOUNTS), st.lists(AMOUNTS))
def test_the_sum_of_two_lists_is_that_of_both(one: list[Amount], other: list[Amount]) -> None:
    assert Amount.sum(one).plus(Amount.sum(other)) == Amount.sum([*one, *other])
    assert Amount.sum([*one, NOTHING]) == Amount.sum(reversed(one))
