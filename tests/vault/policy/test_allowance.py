import pytest

from tests.vault.policy.example import faults_after, policy_after
from vault.policy.allowance import SPANS, Allowance, Group, Windows

LIFETIME = 'lifetime_epsilon = "3"'


def after(*lines: str) -> tuple[str, ...]:
    return faults_after((LIFETIME, "\n".join((LIFETIME, *lines))))


def test_the_spans_of_an_allowance_are_those_that_are_written_the_shortest_first() -> None:
    assert Allowance.model_validate({"ever": "1", "week": "0.5", "day": 0}).caps() == {
        "day": 0,
        "week": 5 * 10**8,
        "ever": 10**9,
    }
    assert {*Windows.model_fields, "ever"} == {*Allowance.model_fields} == {*SPANS}


def test_analysts_and_groups_have_names_as_people_write_them() -> None:
    lines = (
        LIFETIME,
        'analyst."ann@example.org" = { month = "0.5" }',
        'group."public health" = { members = ["ann@example.org", "bo"], month = "1" }',
        'column.spending = { day = "0.1" }',
        'each_analyst = { ever = "2" }',
    )
    rules = policy_after((LIFETIME, "\n".join(lines))).dataset["rand"]
    assert rules.analyst == {"ann@example.org": Allowance.model_validate({"month": "0.5"})}
    assert rules.group["public health"].members == ("ann@example.org", "bo")
    assert rules.each_analyst == Allowance.model_validate({"ever": "2"})
    assert rules.column["spending"].caps() == {"day": 10**8}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('budget = { ever = "1" }', "dataset.rand.budget.ever: unknown key; there are: day, week, month, quarter"),
        ('budget = { year = "1" }', "dataset.rand.budget.year: unknown key; there are: day, week, month, quarter"),
        (
            'column.age = { yr = "1" }',
            "dataset.rand.column.age.yr: unknown key; there are: day, week, month, quarter, ",
        ),
        ('each_analyst = { hour = "1" }', "dataset.rand.each_analyst.hour: unknown key; there are: day, week, "),
        ('analyst.ann = { hour = "1" }', "dataset.rand.analyst.ann.hour: unknown key; there are: day, week, month, "),
        ('group.press = { names = [], day = "1" }', "dataset.rand.group.press.members: is missing"),
        ('group.press = { members = [], day = "1" }', "dataset.rand.group.press.members: is empty"),
        (
            'group.press = { members = ["a", "a"], day = "1" }',
            "dataset.rand.group.press.members: a member stands twice",
        ),
        (
            'group.press = { members = [" a"], day = "1" }',
            "dataset.rand.group.press.members[0]: name: it must not begin",
        ),
        ('analyst."" = { day = "1" }', "dataset.rand.analyst.: name: it must be 1 to 190 printable characters"),
        ("column.age = 1", "dataset.rand.column.age: expected a section of keys and values"),
    ],
)
def test_a_fault_names_its_key(line: str, fault: str) -> None:
    assert after(line)[0].startswith(fault)


def test_a_group_has_the_keys_of_an_allowance_and_its_members() -> None:
    assert {*Group.model_fields} == {*Allowance.model_fields, "members"}
    (found,) = after('group.press = { members = ["a"], day = "1", who = 1 }')
    assert found.endswith("there are: day, week, month, quarter, ever, members")
