from fractions import Fraction

import pytest

import dp
from tests.vault.policy.example import example_policy, policy_after
from vault.question import admit, parse
from vault.translation import HASHES, dp_question, headings, labels, price_of, read_as, spelled, undeclared

POLICY = example_policy()
RULES = POLICY.dataset["rand"]
VISITS = dp.Grid(Fraction(1), 0, 20)


def asked(text: str) -> dp.Question:
    return dp_question(POLICY, "rand", admit(parse(text), POLICY, "rand"))


def test_a_question_has_the_caps_and_the_grid_of_the_policy() -> None:
    assert asked("count(*)") == dp.Count(dp.Caps(5, 1), 1)
    assert asked("count(*) by site, plan") == dp.Count(dp.Caps(5, 1), 12)
    assert asked("sum(visits)") == dp.Sum(dp.Caps(5, 1), POLICY.grid("rand", "visits"), 1)
    assert asked("mean(a_visit) by plan") == dp.Mean(dp.Caps(5, 1), dp.Grid.of(0, 500, "0.1", values="float"), 2)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("count_units by site", dp.CountUnits(dp.Caps(1, 1), 6)),
        ("count_distinct(plan)", dp.CountDistinct(dp.Caps(5, 1), HASHES, 1)),
        ("variance(visits)", dp.Variance(dp.Caps(5, 1), VISITS, 1)),
        ("std(visits) by plan", dp.StandardDeviation(dp.Caps(5, 1), VISITS, 2)),
        ("low(visits)", dp.Quantiles(dp.Caps(5, 1), VISITS, (Fraction(1, 20),), 1)),
        ("histogram(visits) by site", dp.Histogram(dp.Caps(5, 1), VISITS, (0, 5, 20), 6)),
        ("top(3) by plan, site", dp.TopGroups(dp.Caps(5, 1), 3, 12)),
        ("count_units(*) by email", dp.UndeclaredGroups(dp.Caps(1, 1))),
    ],
)
def test_each_aggregate_is_a_question_of_dp(text: str, question: dp.Question) -> None:
    assert asked(text) == question


def test_a_grouped_question_and_a_histogram_may_see_a_person_in_several_groups() -> None:
    policy = policy_after(("rows_per_unit = 5", "rows_per_unit = 5\ngroups_per_unit = 3"))
    caps = {
        text: dp_question(policy, "rand", admit(parse(text), policy, "rand")).caps
        for text in ("count(*)", "count(*) by site", "histogram(visits)", "count_units by email", "median(visits)")
    }
    assert [(of.rows, of.groups) for of in caps.values()] == [(5, 1), (5, 3), (5, 3), (1, 3), (5, 1)]


def test_only_groups_that_nobody_declared_cost_a_delta() -> None:
    of = {text: admit(parse(text), POLICY, "rand") for text in ("count_units(*) by email", "count_units(*) by site")}
    prices = [price_of(RULES, question, 5 * 10**8) for question in of.values()]
    assert prices == [dp.Price.approximate(5 * 10**8, 10**12), dp.Price.pure(5 * 10**8)]
    assert [undeclared(RULES, question) for question in of.values()] == [True, False]


@pytest.mark.parametrize(
    ("text", "called", "labelled"),
    [
        ("quantile(visits, 0.9, 0.5)", ("quantile",), (("0.5",), ("0.9",))),
        ("median(visits) by plan", ("plan", "quantile"), (("a", "0.5"), ("b", "0.5"))),
        ("histogram(spending)", ("spending",), (("[0, 18.5)",), ("[18.5, 2000]",))),
        ("histogram(spending / visits)", ("a_visit",), (("[0, 10)",), ("[10, 500]",))),
        ("count_units by email", ("email",), ((),)),
        ("count(*)", (), ((),)),
    ],
)
def test_quantiles_and_bins_are_parts_of_a_label(text: str, called: object, labelled: object) -> None:
    question = admit(parse(text), POLICY, "rand")
    assert (headings(RULES, question), labels(RULES, question)) == (called, labelled)
    groups = dp_question(POLICY, "rand", question).n_groups
    assert len(labels(RULES, question)) == groups


def test_every_group_of_an_answer_has_a_label_in_order() -> None:
    question = admit(parse("count by site, plan"), POLICY, "rand")
    assert headings(RULES, question) == ("plan", "site")
    assert labels(RULES, question)[:2] == (("a", 1), ("a", 2))
    assert spelled(labels(RULES, question))[0] == "'a', 1"


def test_what_is_read_is_told_with_its_types() -> None:
    question = admit(parse("sum(a_visit) where age > 1"), POLICY, "rand")
    assert read_as(POLICY, "rand", question) == (
        "table person_year unit person columns age float, person int, spending float, visits int"
    )
