import pytest

from tests.vault.policy.example import faults_after

LIFETIME = 'lifetime_epsilon = "3"\nlifetime_delta = "1e-5"\n'
WITHOUT = (('unknown.email = { delta = "1e-6" }\n', ""),)
OTHER = """
[dataset.other]
table = "person_year"
unit = "plan"
rows_per_unit = 1
lifetime_epsilon = "2"
"""


def after(*lines: str) -> tuple[str, ...]:
    """Of a dataset whose lifetime has no delta."""
    return faults_after(*WITHOUT, (LIFETIME, "\n".join(('lifetime_epsilon = "3"', *lines, ""))))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('column.nobody = { day = "1" }', "column.nobody: there is no column nobody; name one of: person, year"),
        ("budget = {}", 'budget: says no amount; write one of day, week, month, quarter, such as month = "0.5"'),
        ("column.age = {}", "column.age: says no amount; write one of day, week, month, quarter, ever, such"),
        ("each_analyst = {}", "each_analyst: says no amount"),
        ("analyst.ann = {}", "analyst.ann: says no amount"),
        (
            'group.press = { members = ["ann"] }',
            "group.press: says no amount; write one of day, week, month, quarter, e",
        ),
        ('budget = { day = "1", month = "0.5" }', "budget.day: 1 is more than month allows, so that it never decides"),
        ('analyst.ann = { week = "1", ever = "0.5" }', "analyst.ann.week: 1 is more than ever allows"),
        (
            'budget = { day = "0.5", month = "1" }\nanalyst.ann = { day = "0.6" }',
            "analyst.ann.day: 0.6 is more than budget.day allows all, so that it never decides",
        ),
        (
            'budget = { month = "1" }\ncolumn.age = { week = "1.1" }',
            "column.age.week: 1.1 is more than budget.month allows all, so that it never decides",
        ),
        ('column.age = { ever = "3.1" }', "column.age.ever: 3.1 is more than lifetime_epsilon, so that it nev"),
        (
            'least_epsilon = "0.5"\nmost_epsilon = "0.1"',
            "least_epsilon: 0.5 is more than most_epsilon, so that nothing",
        ),
        ('least_epsilon = "3.5"', "least_epsilon: 3.5 is more than lifetime_epsilon, so that nothing could be asked"),
        ('least_epsilon = "0.5"\nbudget = { day = "0.1" }', "budget.day: 0.1 is less than least_epsilon, so that noth"),
    ],
)
def test_a_budget_of_nothing_or_that_never_decides_names_its_key(line: str, fault: str) -> None:
    (found,) = after(line)
    assert found.startswith(f"dataset.rand.{fault}")


@pytest.mark.parametrize(
    "line",
    [
        'budget = { day = "0.5", month = "0.5", quarter = "3" }',
        'budget = { day = "0.5" }\neach_analyst = { day = "0.5", week = "2" }\ncolumn.age = { ever = "3" }',
        'least_epsilon = "0.5"\nmost_epsilon = "0.5"\nbudget = { day = 0 }',
        'column.photo = { ever = 0 }\ncolumn.email = { day = "1" }\ncolumn.person = { day = "1" }',
    ],
)
def test_a_budget_that_decides_is_no_fault(line: str) -> None:
    assert after(line) == ()


def test_with_a_delta_the_sum_of_epsilon_may_be_more_than_the_lifetime() -> None:
    assert faults_after((LIFETIME, f'{LIFETIME}budget = {{ quarter = "5" }}\n')) == ()


def test_a_column_that_no_question_is_about_has_no_budget() -> None:
    (found,) = faults_after(
        ('age = { type = "float" }', 'age = { type = "bool" }'), (LIFETIME, f"{LIFETIME}column.age = {{ day = 1 }}\n")
    )
    assert found == "dataset.rand.column.age: no question is about a bool column; leave this out"


def shared(lines: str) -> tuple[str, ...]:
    return faults_after(("[dataset.rand]", f"{OTHER}\n[lifetime.all]\n{lines}\n[dataset.rand]"))


def test_a_shared_lifetime_names_datasets_there_are() -> None:
    (found,) = shared('datasets = ["rand", "none"]\nepsilon = 2')
    assert found == "lifetime.all.datasets: there is no dataset none; name some of: other, rand"


def test_datasets_whose_units_are_of_two_types_do_not_share_a_lifetime() -> None:
    (found,) = shared('datasets = ["rand", "other"]\nepsilon = 2')
    assert found.startswith("lifetime.all.datasets: their units are int and str; ")


def test_a_shared_lifetime_of_more_than_its_datasets_have_never_decides() -> None:
    same = OTHER.replace('"plan"', '"person"')
    lines = f'{same}\n[lifetime.all]\ndatasets = ["rand", "other"]\nepsilon = "5.5"\n[dataset.rand]'
    assert faults_after(("[dataset.rand]", lines)) == ()  # with a delta it may
    (found,) = faults_after(("[dataset.rand]", lines), *WITHOUT, (LIFETIME, 'lifetime_epsilon = "3"\n'))
    assert found == "lifetime.all.epsilon: its datasets may spend 5 in all, so that it never decides; lower it"


def test_a_shared_lifetime_tells_of_a_dataset_without_its_table_once() -> None:
    lines = OTHER.replace('"person_year"', '"gone"') + '\n[lifetime.all]\ndatasets = ["rand", "other"]\nepsilon = 2\n'
    (found,) = faults_after(("[dataset.rand]", f"{lines}[dataset.rand]"))
    assert found.startswith("dataset.other.table: there is no table gone")
