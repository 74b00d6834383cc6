import pytest

from tests.vault.policy.example import example_policy, faults_after
from vault.expression import parse_expression


def test_an_expression_is_kept_in_its_one_text_with_its_bounds() -> None:
    declared = example_policy().dataset["rand"].expressions["a_visit"]
    assert declared.text == "spending / visits"
    assert declared.expression == parse_expression("(spending) / visits")
    assert example_policy().grid("rand", declared.expression).upper == 5_000


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("spending /", "character 11: expected the name of a column"),
        ("log(spending)", "character 1: the functions of an expression are abs, min and max"),
        ("", "character 1: expected the name"),
    ],
)
def test_a_text_that_is_no_expression_names_its_key_and_place(written: str, fault: str) -> None:
    (found,) = faults_after(('is = "spending / visits"', f'is = "{written}"'))
    assert found.startswith(f"dataset.rand.expressions.a_visit.is: {fault}")


def test_its_keys_are_named() -> None:
    (found,) = faults_after(('is = "spending / visits"', 'is = "spending / visits", at = 1'))
    assert found == "dataset.rand.expressions.a_visit.at: unknown key; there are: lower, upper, step, is"
