from dataclasses import replace
from fractions import Fraction

import pytest

import dp
from tests.vault.policy.example import example_policy
from vault.cli.answer_display import ShownAnswer, cost, number, shown_noise, shown_price
from vault.question import admit, parse

POLICY = example_policy()
ANSWER = dp.Answer(
    question="count(*)",
    nano_epsilon=500_000_000,
    caps=dp.Caps(5, 1),
    noise=(dp.NoiseScale("count", Fraction(10), 500_000_000),),
    groups=(dp.GroupAnswer(0, Fraction(7), (Fraction(-3), Fraction(17))),),
)


def shown(text: str, released: dp.Answer = ANSWER) -> ShownAnswer:
    return ShownAnswer.of(POLICY, "rand", admit(parse(text), POLICY, "rand"), released)


def test_exact_numbers_are_shown_in_decimals() -> None:
    assert number(Fraction(1234)) == "1,234"
    assert number(Fraction(1, 3)) == "0.33"
    assert number(Fraction(1, 3), 4) == "0.3333"


@pytest.mark.parametrize(
    ("text", "decimals"),
    [("count(*)", 2), ("sum(visits)", 2), ("mean(spending)", 2), ("variance(spending)", 4), ("std(a_visit)", 2)],
)
def test_the_step_of_the_grid_says_how_many(text: str, decimals: int) -> None:
    assert shown(text).decimals == decimals


def test_what_it_cost_is_told_by_what_bounds_it() -> None:
    assert cost(ANSWER) == "epsilon 0.5"
    assert cost(replace(ANSWER, atto_delta=10**12)) == "epsilon 0.5, delta 0.000001"
    gaussian = replace(ANSWER, nano_epsilon=None, nano_rho=10**7)
    assert cost(gaussian) == "rho 0.01"
    said = shown("count(*)", gaussian).in_json()
    assert (said["epsilon"], said["rho"], said["delta"]) == (None, "0.01", "0")


def test_a_price_is_told_as_a_cost_and_noise_by_what_it_spends() -> None:
    assert shown_price(dp.Price.pure(5 * 10**8)) == "epsilon 0.5"
    assert shown_price(dp.Price.gaussian(10**7)) == "rho 0.01"
    assert shown_price(dp.Price.approximate(5 * 10**8, 10**12)) == "epsilon 0.5, delta 0.000001"
    gaussian = dp.NoiseScale("count", Fraction(50), None, 10**7)
    assert shown_noise(gaussian) == {"part": "count", "scale": "50", "epsilon": None, "rho": "0.01"}


def test_a_group_that_nobody_declared_is_called_by_its_key() -> None:
    keyed = replace(ANSWER, groups=(replace(ANSWER.groups[0], key=b"str:Zyxwv"),))
    (group,) = shown("count_units(*) by email", keyed).in_json()["groups"]
    assert group["group"] == {"email": "Zyxwv"}


def test_the_largest_groups_are_called_by_their_labels() -> None:
    top = replace(ANSWER, groups=(replace(ANSWER.groups[0], group=4), replace(ANSWER.groups[0], group=0)))
    assert [group["group"] for group in shown("top(2) by site", top).in_json()["groups"]] == [{"site": 5}, {"site": 1}]
