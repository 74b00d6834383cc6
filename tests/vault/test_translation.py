import dp
from tests.vault.policy.example import example_policy
from vault.question import admit, parse
from vault.translation import dp_question, headings, labels, read_as, spelled

POLICY = example_policy()
RULES = POLICY.dataset["rand"]


def asked(text: str) -> dp.Question:
    return dp_question(POLICY, "rand", admit(parse(text), POLICY, "rand"))


def test_a_question_has_the_caps_and_the_grid_of_the_policy() -> None:
    assert asked("count(*)") == dp.Count(dp.Caps(5, 1), 1)
    assert asked("count(*) by site, plan") == dp.Count(dp.Caps(5, 1), 12)
    assert asked("sum(visits)") == dp.Sum(dp.Caps(5, 1), POLICY.grid("rand", "visits"), 1)
    assert asked("mean(a_visit) by plan") == dp.Mean(dp.Caps(5, 1), dp.Grid.of(0, 500, "0.1", values="float"), 2)


def test_every_group_of_an_answer_has_a_label_in_order() -> None:
    question = admit(parse("count by site, plan"), POLICY, "rand")
    assert headings(question) == ("plan", "site")
    assert labels(RULES, question)[:2] == (("a", 1), ("a", 2))
    assert spelled(labels(RULES, question))[0] == "'a', 1"


def test_what_is_read_is_told_with_its_types() -> None:
    question = admit(parse("sum(a_visit) where age > 1"), POLICY, "rand")
    assert read_as(POLICY, "rand", question) == (
        "table person_year unit person columns age float, person int, spending float, visits int"
    )
