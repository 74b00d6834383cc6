import pytest

from tests.vault.policy.example import faults_after

SPENDING = 'spending = { lower = "0", upper = "2000", step = "0.01" }'


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('table = "person_year"', 'table = "people"'), "dataset.rand.table: there is no table people; name one of: p"),
        (('unit = "person"', 'unit = "someone"'), "dataset.rand.unit: there is no column someone; name one of: person"),
        (('unit = "person"', 'unit = "visits"'), "dataset.rand.unit: visits cannot tell persons apart"),
        (('unit = "person"', 'unit = "age"'), "dataset.rand.unit: age cannot tell persons apart"),
        (
            ('lower = "0", upper = "2000"', 'lower = "2000", upper = "0"'),
            "dataset.rand.bounds.spending: lower is 2000 and",
        ),
        (
            ('lower = "0", upper = "2000"', 'lower = "5", upper = "5"'),
            "dataset.rand.bounds.spending: lower is 5 and upper",
        ),
        (('step = "0.01"', 'step = "0.03"'), "dataset.rand.bounds.spending.upper: it must be a multiple of the step"),
        (('step = "0.01"', 'step = "0"'), "dataset.rand.bounds.spending.step: must be above 0"),
        ((', step = "0.01"', ""), "dataset.rand.bounds.spending.step: is missing; a float column needs"),
        (('step = "0.01"', 'step = "1e-30"'), "dataset.rand.bounds.spending."),
        (("upper = 20 ", 'upper = "1e40" '), "dataset.rand.bounds.visits.upper: it is beyond 2**62 steps"),
        (("upper = 20 ", "upper = 20.5 "), "dataset.rand.bounds.visits: an int column has whole numbers"),
        ((SPENDING, SPENDING.replace("spending", "plan")), "dataset.rand.bounds.plan: a str column has no bounds"),
        ((SPENDING, SPENDING.replace("spending", "income")), "dataset.rand.bounds.income: there is no column income"),
    ],
)
def test_a_contradiction_names_its_key_and_what_to_do(change: tuple[str, str], fault: str) -> None:
    (found,) = faults_after(change)
    assert found.startswith(fault)


def test_contradictions_are_told_together() -> None:
    faults = faults_after(('unit = "person"', 'unit = "x"'), ('step = "0.01"', 'step = "-1"'), ("{ site", "{ city"))
    assert len(faults) == 3
