from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.spans import SPANS
from tests.vault.policy.example import example_policy, policy_after
from vault.policy import allowance
from vault.policy.declared_budgets import budgets_of

LIFETIME = 'lifetime_epsilon = "3"'
ALL = f"""{LIFETIME}
least_epsilon = "0.01"
most_epsilon = "0.5"
separate_budget = "rows of other persons"
budget = {{ day = "0.5", quarter = "2" }}
column.spending = {{ month = "0.4" }}
each_analyst = {{ week = "0.25", ever = "1" }}
analyst.ann = {{ week = 0 }}
group.press = {{ members = ["bo", "ann"], month = "0.3" }}
"""


def test_every_budget_of_a_dataset_is_declared() -> None:
    assert budgets_of(policy_after((LIFETIME, ALL)).dataset["rand"], "ab" * 32) == Budgets(
        3 * 10**9,
        10**13,
        scopes=(
            Scope("dataset", "", "day", 500_000_000),
            Scope("dataset", "", "quarter", 2 * 10**9),
            Scope("column", "spending", "month", 400_000_000),
            Scope("analyst", "", "week", 250_000_000),
            Scope("analyst", "", "ever", 10**9),
            Scope("analyst", "ann", "week", 0),
            Scope("group", "press", "month", 300_000_000),
        ),
        members=(("press", "ann"), ("press", "bo")),
        least_nano=10_000_000,
        most_nano=500_000_000,
        source="ab" * 32,
        separate="rows of other persons",
    )


def test_a_dataset_that_says_no_more_has_its_lifetime() -> None:
    assert budgets_of(example_policy().dataset["rand"]) == Budgets(3 * 10**9, 10**13)


def test_the_spans_of_a_policy_are_those_of_the_ledger() -> None:
    assert tuple(SPANS) == allowance.SPANS
