import pytest

from tests.vault.policy.example import faults_after

IS = 'is = "spending / visits"'


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ((IS, 'is = "income / visits"'), ".is: there is no column income; there are: person, year"),
        ((IS, 'is = "plan / visits"'), ".is: plan is str; an expression computes with int and float columns"),
        ((IS, "is = \"case when visits = 'a' then 1 end\""), ".is: visits is int; only a str column is compared"),
        ((IS, "is = \"case when plan < 'a' then 1 end\""), ".is: plan is str, and texts have no order here"),
        ((IS, "is = \"case when city = 'a' then 1 end\""), ".is: there is no column city"),
        ((IS, 'is = "(visits)"'), ".is: this is a column; write bounds.visits = "),
        (("upper = 500", "upper = 0"), ": lower is 0 and upper is 0; lower must be below upper"),
        (('500, step = "0.1"', "500"), ".step: is missing; write the grid"),
        (('500, step = "0.1"', '500, step = "0.3"'), ".upper: it must be a multiple of the step"),
        (('500, step = "0.1"', '500, step = "0"'), ".step: it must be above 0"),
        (('500, step = "0.1"', '500, step = "1e-30"'), ".upper: it is beyond 2**52 steps"),
    ],
)
def test_a_contradiction_names_its_key_and_what_to_do(change: tuple[str, str], fault: str) -> None:
    (found,) = faults_after(change)
    assert found.startswith(f"dataset.rand.expressions.a_visit{fault}")


def test_a_name_means_one_thing_and_an_expression_has_one_name() -> None:
    again = 'expressions.again = { is = "spending/visits", lower = 0, upper = 1, step = 1 }\nexpressions.a_visit = {'
    (found,) = faults_after(("expressions.a_visit = {", again))
    assert found == "dataset.rand.expressions.a_visit.is: this is again; declare it once"
    (found,) = faults_after(("expressions.a_visit", "expressions.age"), (", a_visit = [0, 10, 500]", ""))
    assert found == "dataset.rand.expressions.age: the table has a column of this name; choose another"
