from hypothesis import given
from hypothesis import strategies as st

from tests.vault.watching.logs import asked, entry
from vault.question import parse
from vault.watching.neighbours import neighbours, on, without


def columns(*texts: str) -> list[tuple[str | None, tuple[str, ...]]]:
    log = asked(*(entry(n, text) for n, text in enumerate(texts)))
    return [(found.column, found.texts) for found in neighbours(log)]


def test_questions_are_neighbours_along_the_one_column_in_which_they_differ() -> None:
    one, other = "count(*) where age >= 41 and site = 1", "count(*) where age >= 42 and site = 1"
    assert columns(one, other) == [("age", (one, other))]


def test_one_that_has_no_condition_on_the_column_is_a_neighbour_too() -> None:
    assert columns("count(*)", "count(*) where age != 93") == [("age", ("count(*)", "count(*) where age != 93"))]


def test_those_that_differ_in_two_columns_or_in_what_is_asked_are_none() -> None:
    assert columns("count(*) where age = 1 and site = 1", "count(*) where age = 2 and site = 2") == []
    assert columns("count(*) where age = 1", "sum(spending) where age = 2") == []
    assert columns("count(*) where age = 1", "count(*) where age = 2 by site") == []


def test_one_question_at_two_prices_is_a_neighbour_of_itself_and_a_repeat_of_none() -> None:
    log = asked(entry(1, "count(*)"), entry(2, "count(*)", epsilon="0.2"), entry(3, "count(*)", epsilon="0.2"))
    (found,) = neighbours(log)
    assert (found.column, found.different, found.entries) == (None, 2, (1, 2, 3))
    assert not list(neighbours(asked(entry(1, "count(*)"), entry(2, "count(*)"))))
    (epochs,) = neighbours(asked(entry(1, "count(*)"), entry(2, "count(*)", epoch=2)))
    assert epochs.different == 2


def test_those_of_a_batch_and_of_other_analysts_are_neighbours() -> None:
    log = asked(entry(1, "count(*) where age = 1", "sum(spending)"), entry(2, "count(*) where age = 2", who="bob"))
    (found,) = neighbours(log)
    assert (found.principals, found.entries, found.different) == (("ann", "bob"), (1, 2), 2)


@given(st.lists(st.sampled_from(["age = 1", "age = 2", "site = 1", "site = 2", "year = 1"]), max_size=3))
def test_a_question_is_the_conditions_on_a_column_and_the_others(conditions: list[str]) -> None:
    question = parse("count(*)" + (" where " + " and ".join(conditions) if conditions else ""))
    for column in (None, "age", "site"):
        assert sorted(map(str, (*on(question, column), *without(question, column)))) == sorted(map(str, question.where))
        assert {condition.column for condition in on(question, column)} <= {column}
