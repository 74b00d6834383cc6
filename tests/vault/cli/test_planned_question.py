import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.cli.planned_question import PlannedQuestion, planned_questions
from vault.errors import PolicyError


def test_a_line_is_a_question_and_what_is_wished_of_it() -> None:
    lines = ["# the first quarter", "", " count(*) ", "mean(a); count 1000 , error 2.5", "sum(a) ; epsilon 0.2"]
    assert planned_questions(lines) == [
        PlannedQuestion("count(*)"),
        PlannedQuestion("mean(a)", error="2.5", count="1000"),
        PlannedQuestion("sum(a)", epsilon="0.2"),
    ]


def test_a_semicolon_within_a_text_is_no_wish() -> None:
    assert planned_questions(["count where a = 'x; y'"]) == [PlannedQuestion("count where a = 'x; y'")]
    assert planned_questions(["count where a = ';'; error 1"]) == [PlannedQuestion("count where a = ';'", error="1")]


@pytest.mark.parametrize("tail", ["", "error", "errors 1", "error 1 2", "error 1, error 2", "error 1,"])
def test_a_wish_that_is_none_names_its_line(tail: str) -> None:
    with pytest.raises(PolicyError, match=r"line 2 of the plan: after ; write each once"):
        planned_questions(["count(*)", f"count(*); {tail}"])


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_lines_are_questions_or_one_error(lines: list[str]) -> None:
    try:
        found = planned_questions(lines)
    except PolicyError:
        return
    assert len(found) <= len(lines)
