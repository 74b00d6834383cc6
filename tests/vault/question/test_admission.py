from pathlib import Path

import pytest
from hypothesis import given

from tests.vault.policy.example import EXAMPLE, example_policy
from tests.vault.question.questions import questions
from vault.policy import Policy
from vault.question import Question, QuestionRefusedError, parse, validate

POLICY = example_policy()


@pytest.mark.parametrize(
    "text",
    [
        "count(*)",
        "count where age >= 40.5 and site in (1, 7) and plan != 'x' by site",
        "sum(visits) where visits < 10 and email = 'a@mail.example'",
        "mean(spending) by plan, site",
        "count where site = 9223372036854775807",
        "count where age < 1e300",
    ],
)
def test_what_the_policy_declares_can_be_asked(text: str) -> None:
    validate(parse(text), POLICY, "rand")


@pytest.mark.parametrize(
    ("text", "parameter", "hint"),
    [
        ("sum(income)", "column", "no column income; there are: person, year, site"),
        ("mean(age)", "column", "age has no bounds in the dataset; there are: spending, visits"),
        ("count by city", "by", "no column city; there are: person"),
        ("count by year", "by", "year has no declared groups; there are: site, plan"),
        ("count where city = 1", "where", "no column city"),
        ("count where Site = 1", "where", "no column Site"),
        ("count where site = 'a'", "where", "site is int; compare it with a number"),
        ("count where plan = 1", "where", "plan is str; compare it with a 'text'"),
        ("count where site in ('a', 'b')", "where", "compare it with a number"),
        ("count where plan < 'b'", "where", "texts have no order"),
        ("count where site >= 1.5", "where", "a whole number"),
        ("count where site = 9223372036854775808", "where", "outside 64 bits"),
        ("count where age = 1e309", "where", "beyond the largest float"),
        ("count where photo = 'ff'", "where", "holds bytes"),
    ],
)
def test_a_refusal_names_the_parameter_and_what_is_allowed(text: str, parameter: str, hint: str) -> None:
    with pytest.raises(QuestionRefusedError, match=hint) as caught:
        validate(parse(text), POLICY, "rand")
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(f"{parameter}: ")


def test_a_dataset_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(QuestionRefusedError, match="dataset: there is no dataset 'randy'; there are: rand"):
        validate(parse("count"), POLICY, "randy")


def test_groups_beyond_number_are_refused() -> None:
    dataset = POLICY.dataset["rand"]
    many = {"site": tuple(range(1000)), "plan": tuple(map(str, range(101)))}
    policy: Policy = POLICY.model_copy(update={"dataset": {"rand": dataset.model_copy(update={"groups": many})}})
    validate(parse("count by site"), policy, "rand")
    with pytest.raises(QuestionRefusedError, match="more than 100000 groups"):
        validate(parse("count by site, plan"), policy, "rand")


def test_a_refusal_does_not_repeat_a_literal() -> None:
    with pytest.raises(QuestionRefusedError) as caught:
        validate(parse("count where site = 'sesame-31'"), POLICY, "rand")
    assert "sesame" not in str(caught.value) + repr(caught.value)


@given(questions)
def test_any_question_is_allowed_or_refused_and_the_same_again(question: Question) -> None:
    def said() -> str:
        try:
            validate(question, POLICY, "rand")
        except QuestionRefusedError as error:
            return str(error)
        return ""

    assert said() == said()


@pytest.mark.parametrize("kind", ["bool", "date"])
def test_a_type_that_questions_have_no_literal_for_is_not_compared(kind: str) -> None:
    policy = Policy.read(EXAMPLE.replace('type = "bytes"', f'type = "{kind}"'), Path("/srv/health"))
    with pytest.raises(QuestionRefusedError, match=f"photo holds a {kind}, and those cannot be compared"):
        validate(parse("count where photo = 1"), policy, "rand")
