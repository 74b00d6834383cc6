from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.watching.logs import POLICY
from vault.expression import Comparison
from vault.question import parse
from vault.watching.declared_set import Domain, Places, allowed, domain_of, share

places = st.sets(st.integers(0, 30)).map(lambda s: Places(tuple((n, n) for n in sorted(s))))


def members(of: Places) -> set[int]:
    return {n for first, last in of.ranges for n in range(first, last + 1)}


@given(places, places)
def test_places_are_sets(one: Places, other: Places) -> None:
    assert members(one.without(other)) == members(one) - members(other)
    assert members(one.common(other)) == members(one) & members(other)
    assert one.size == len(members(one))


def left(column: str, conditions: str) -> Fraction:
    domain = domain_of(POLICY, "visits", column)
    assert domain is not None
    return share(domain, allowed(domain, parse(f"count(*) where {conditions}").where))


@pytest.mark.parametrize(
    ("column", "conditions", "expected"),
    [
        ("site", "site = 2", "1/4"),
        ("site", "site in (2, 3, 9)", "1/2"),
        ("site", "site >= 2", "3/4"),
        ("site", "site < 2", "1/4"),
        ("site", "site > 1 and site <= 3", "1/2"),
        ("site", "site != 2", "3/4"),
        ("site", "site = 1.5", "0"),
        ("town", "town = 'Ulm'", "1/2"),
        ("town", "town != 'Ulm'", "1/2"),
        ("town", "town = 'Rom'", "0"),
        ("age", "age = 93", "1/100"),
        ("age", "age != 93", "99/100"),
        ("age", "age > 90", "1/10"),
        ("age", "age >= 90", "11/100"),
        ("age", "age < 11", "1/10"),
        ("age", "age <= 10.5", "1/10"),
        ("age", "age between 200 and 300", "0"),
        ("age", "age > -7", "1"),
        ("age", "age in (1, 2, 3, 200)", "3/100"),
        ("spending", "spending = 50", "1/201"),
        ("spending", "spending < 50", "100/201"),
        ("spending", "spending <= 50", "101/201"),
        ("spending", "spending > 99.5", "1/201"),
        ("person", "person >= 7", "1"),
    ],
)
def test_the_share_follows_from_the_labels_or_the_bounds(column: str, conditions: str, expected: str) -> None:
    assert left(column, conditions) == Fraction(expected)


def test_single_values_are_next_to_nothing_and_all_but_one_next_to_all() -> None:
    for column, one, other in (("person", "= 7", "!= 7"), ("name", "= 'Ann'", "!= 'Ann'")):
        assert 0 < left(column, f"{column} {one}") < Fraction(1, 10**9)
        assert 1 - Fraction(1, 10**9) < left(column, f"{column} {other}") < 1
    domain = domain_of(POLICY, "visits", "person")
    assert domain is not None
    assert allowed(domain, parse("count(*) where person in (1, 2, 3)").where).size == 3


def test_of_numbers_without_bounds_nobody_said_how_many_there_are() -> None:
    assert domain_of(POLICY, "visits", "female") is None


@given(
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.decimals(-3, 13, places=2),
    st.integers(0, 5),
    st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3)]),
)
def test_a_condition_allows_the_values_that_meet_it(operator: str, value: Decimal, lower: int, step: Fraction) -> None:
    domain = Domain(step=step, lower=lower, upper=lower + 9)
    got = members(allowed(domain, [Comparison("x", operator, (value,))]))  # type: ignore[arg-type]
    exact = Fraction(value)
    tests = {"<": lambda v: v < exact, "<=": lambda v: v <= exact, ">": lambda v: v > exact, ">=": lambda v: v >= exact}
    if operator in tests:
        assert got == {n for n in range(10) if tests[operator]((lower + n) * step)}
    elif (exact / step).denominator == 1:
        equal = {n for n in range(10) if (lower + n) * step == exact}
        assert got == (equal if operator == "=" else set(range(10)) - equal)
