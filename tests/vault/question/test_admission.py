from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.policy.example import EXAMPLE, example_policy
from tests.vault.question.questions import questions
from vault.policy import Policy
from vault.question import Question, QuestionRefusedError, admit, parse

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
        "count_units(*) by plan",
        "count_units by email",
        "count_distinct(person)",
        "count_distinct(site) by plan",
        "variance(visits) by site",
        "std(spending)",
        "median(spending) where plan = 'a'",
        "quantile(visits, 0.1, 0.9) by site",
        "histogram(spending) by plan",
        "count_distinct(year)",
        "count_distinct(age) by site",
        "count_distinct(photo)",
        "histogram(visits)",
        "histogram(a_visit)",
        "histogram(spending / visits)",
        "top(3) by plan, site",
        "sum(a_visit) by site",
        "mean(spending/visits)",
    ],
)
def test_what_the_policy_declares_can_be_asked(text: str) -> None:
    admit(parse(text), POLICY, "rand")


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
        ("variance(age)", "column", "age has no bounds in the dataset; there are: spending, visits"),
        ("median(age)", "column", "age has no bounds"),
        (
            "sum(visits * 2)",
            "expression",
            r"visits \* 2 has no bounds in the dataset; there are: a_visit \(spending / visits",
        ),
        ("sum(visits / spending)", "expression", "has no bounds"),
        ("sum(income / visits)", "expression", "no column income"),
        ("sum(plan + 1)", "expression", "plan is str; an expression computes with int and float columns"),
        ("sum(case when visits = 'x' then 1 end)", "expression", "only a str column"),
        ("sum(case when plan < 'x' then 1 end)", "expression", "texts have no order"),
        ("sum(case when city in ('x', 'y') then 1 end)", "expression", "no column city"),
        ("histogram(age)", "histogram", "age has no edges in the dataset; there are: spending, visits, a_visit"),
        ("histogram(spending + visits)", "histogram", "has no edges"),
        ("count_distinct(a_visit)", "count_distinct", "is an expression; name a column"),
        ("count(*) by email", "by", r"not declared: write count_units\(\*\) by email, or declare"),
        ("count_units(*) by email, site", "by", "group by email alone"),
        ("top(2) by email", "by", "not declared"),
        ("top(13) by plan, site", "top", "there are 12 groups; ask for as many, or fewer"),
        ("count by a_visit", "by", "no column a_visit"),
        ("count where site > 3 and site < 3", "where", "no row can meet all conditions on site"),
        ("count where site > 3 and site < 4", "where", "no row can meet all conditions on site"),
        ("count where plan = 'a' and plan = 'b'", "where", "no row can meet all conditions on plan"),
        ("count where site > 9223372036854775807", "where", "no row can meet"),
    ],
)
def test_a_refusal_names_the_parameter_and_what_is_allowed(text: str, parameter: str, hint: str) -> None:
    with pytest.raises(QuestionRefusedError, match=hint) as caught:
        admit(parse(text), POLICY, "rand")
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(f"{parameter}: ")


@pytest.mark.parametrize(
    ("texts", "canonical"),
    [
        (["count where site >= 3 and site < 10", "count where site < 10 and site > 2 and site between 3 and 9"],
         "count(*) where site <= 9 and site >= 3"),
        (["mean(a_visit) by site", "mean( spending/visits ) by site"], "mean(spending / visits) by site"),
        (["count_distinct(person)", "count_units(*)", "count(distinct person)"], "count_units(*)"),
        (["sum(visits) where age > 0.1", "sum(visits) where age > 0.10000000000000000001"],
         "sum(visits) where age > 0.1"),
    ],
)  # fmt: skip
def test_questions_that_mean_the_same_under_a_policy_have_one_text(texts: list[str], canonical: str) -> None:
    assert {admit(parse(text), POLICY, "rand").canonical() for text in texts} == {canonical}
    assert admit(parse(canonical), POLICY, "rand").canonical() == canonical


@pytest.mark.parametrize(
    "text",
    [
        "count(*)",
        "count(*) where age <= 40.5 and age > 1 and email = 'a' and plan in ('a', 'b') and visits >= 1 by plan, site",
        "mean(spending) where plan != 'a' and site != 3 by site",
        "sum(visits) where site in (1, 2)",
    ],
)
def test_a_text_of_before_stays_as_it_is(text: str) -> None:
    assert admit(parse(text), POLICY, "rand").canonical() == text


def test_a_dataset_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(QuestionRefusedError, match="dataset: there is no dataset 'randy'; there are: rand"):
        admit(parse("count"), POLICY, "randy")


def test_groups_beyond_number_are_refused() -> None:
    dataset = POLICY.dataset["rand"]
    many = {"site": tuple(range(1000)), "plan": tuple(map(str, range(101)))}
    policy: Policy = POLICY.model_copy(update={"dataset": {"rand": dataset.model_copy(update={"groups": many})}})
    admit(parse("count by site"), policy, "rand")
    with pytest.raises(QuestionRefusedError, match="more than 100000 groups"):
        admit(parse("count by site, plan"), policy, "rand")


def test_a_refusal_does_not_repeat_a_literal() -> None:
    with pytest.raises(QuestionRefusedError) as caught:
        admit(parse("count where site = 'sesame-31'"), POLICY, "rand")
    assert "sesame" not in str(caught.value) + repr(caught.value)


@given(questions)
def test_any_question_is_allowed_or_refused_and_the_same_again(question: Question) -> None:
    def said() -> str:
        try:
            admitted = admit(question, POLICY, "rand")
        except QuestionRefusedError as error:
            return str(error)
        assert admit(parse(admitted.canonical()), POLICY, "rand") == admitted
        return admitted.canonical()

    assert said() == said()


bounded = st.sampled_from(["visits", "spending", "a_visit", "spending / visits"])
conditions = st.builds(
    lambda column, operator, value: f"{column} {operator} {value}",
    st.sampled_from(["site", "age", "visits"]),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.integers(-2, 3),
)


@given(st.sampled_from(["sum", "mean", "median", "std"]), bounded, st.lists(conditions, max_size=5))
def test_what_is_admitted_is_admitted_as_itself(aggregate: str, of: str, where: list[str]) -> None:
    text = f"{aggregate}({of})" + (f" where {' and '.join(where)}" if where else "")
    try:
        admitted = admit(parse(text), POLICY, "rand")
    except QuestionRefusedError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert "no row can meet" in refused
        return
    assert admit(parse(admitted.canonical()), POLICY, "rand") == admitted
    assert len(admitted.where) <= len(set(where))


@pytest.mark.parametrize("kind", ["bool", "date"])
def test_a_type_that_questions_have_no_literal_for_is_not_compared(kind: str) -> None:
    policy = Policy.read(EXAMPLE.replace('type = "bytes"', f'type = "{kind}"'), Path("/srv/health"))
    with pytest.raises(QuestionRefusedError, match=f"photo holds a {kind}, and those cannot be compared"):
        admit(parse("count where photo = 1"), policy, "rand")
    with pytest.raises(QuestionRefusedError, match=f"count_distinct: photo is {kind}; count the values of one"):
        admit(parse("count_distinct(photo)"), policy, "rand")


def test_what_is_too_long_in_its_one_form_is_refused_and_not_only_by_workers() -> None:
    """Workers are told the question as text: with and without them it is one answer or one refusal."""
    values = ", ".join(f"{n}e15" for n in range(1, 1_200))
    with pytest.raises(QuestionRefusedError, match="question: in its one form"):
        admit(parse(f"count(*) where site in ({values})"), POLICY, "rand")


@given(questions)
def test_what_is_admitted_reads_as_itself(question: Question) -> None:
    try:
        admitted = admit(question, POLICY, "rand")
    except QuestionRefusedError:
        return
    assert parse(admitted.canonical()) == admitted
