import pytest

from tests.vault.policy.example import faults_after, policy_after

LIFETIME = 'lifetime_epsilon = "3"'


@pytest.mark.parametrize(
    ("written", "nano"),
    [('"0.5"', 500_000_000), ("0.5", 500_000_000), ("1", 10**9), ('"1e-9"', 1), ("100000", 10**14)],
)
def test_an_epsilon_is_kept_in_units_of_1e_9(written: str, nano: int) -> None:
    assert policy_after((LIFETIME, f"lifetime_epsilon = {written}")).dataset["rand"].lifetime_nano == nano


@pytest.mark.parametrize("written", ["0", '"0"', '"100000.1"', '"1e-10"', "true", "[]", '"a"', '"-1"'])
def test_k19_05_an_epsilon_that_is_none_names_its_key(written: str) -> None:
    (found,) = faults_after((LIFETIME, f"{LIFETIME}\nmost_epsilon = {written}"))
    assert found.startswith("dataset.rand.most_epsilon: ")


@pytest.mark.parametrize(("written", "nano"), [("0", 0), ('"0"', 0), ('"0.25"', 250_000_000), ("2", 2 * 10**9)])
def test_a_budget_may_be_nothing_at_all(written: str, nano: int) -> None:
    changed = policy_after((LIFETIME, f"{LIFETIME}\nbudget = {{ day = {written} }}")).dataset["rand"].budget
    assert changed is not None
    assert changed.day == nano


@pytest.mark.parametrize("written", ["false", '"-0"', '""', "nan", "[0]", '"0 "'])
def test_a_budget_that_is_no_number_names_its_key(written: str) -> None:
    (found,) = faults_after((LIFETIME, f"{LIFETIME}\nbudget = {{ day = {written} }}"))
    assert found.startswith("dataset.rand.budget.day: epsilon: ")
