from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.expression import Column
from vault.question import Comparison, Question, QuestionError, QuestionTextError, parse


def test_a_question_is_read_into_its_parts() -> None:
    assert parse("mean(spending) where female = 1 and age >= 40 by site") == Question(
        "mean",
        Column("spending"),
        (Comparison("age", ">=", (Decimal(40),)), Comparison("female", "=", (Decimal(1),))),
        ("site",),
    )


@pytest.mark.parametrize("text", ["count", "count()", "count(*)", "COUNT ( * )", " Count\n"])
def test_rows_are_counted_in_several_spellings(text: str) -> None:
    assert parse(text).canonical() == "count(*)"


@pytest.mark.parametrize(
    "text",
    [
        "mean(x) where a = 1 and b = 'y' by s, t",
        "MEAN( x )  WHERE b=='y' AND a==1.0 BY t,s",
        "mean(x)where a=1e0 and b='y'by s,t",
        "mean(x) where a = 1 and b = 'y' and a = 01 by t, s",
        "mean(x) where a in (1, 1.00) and b in ('y') by s, t",
        "mean(x)\nwhere\ta\r\n=\n10e-1 and b = 'y' by s, t",
    ],
)
def test_the_same_question_in_other_words_has_the_same_text(text: str) -> None:
    assert parse(text).canonical() == "mean(x) where a = 1 and b = 'y' by s, t"


@pytest.mark.parametrize(
    ("texts", "canonical"),
    [
        (["count_units", "COUNT_UNITS( )", "count_units(*)"], "count_units(*)"),
        (["count(distinct a)", "count_distinct( a )"], "count_distinct(a)"),
        (["avg(a)", "average(a)", "mean((a))"], "mean(a)"),
        (["var(a)", "variance(+a)"], "variance(a)"),
        (["stddev(a)", "std(a)"], "std(a)"),
        (["median(a)", "quantile(a, .5)", "quantile(a, 0.5, 0.50)"], "quantile(a, 0.5)"),
        (["low(a)", "quantile(a, 5e-2)"], "quantile(a, 0.05)"),
        (["high(a)"], "quantile(a, 0.95)"),
        (["quantile(a, 0.9, 0.5)", "quantile(a,0.5,0.9,0.9)"], "quantile(a, 0.5, 0.9)"),
        (["histogram(a) by b"], "histogram(a) by b"),
        (["top(5) by a", "TOP ( 5.0 ) BY a,a"], "top(5) by a"),
        (["sum(b/a)", "sum((b) / a)"], "sum(b / a)"),
        (["sum(b + a)", "sum(a + b)"], "sum(a + b)"),
        (["sum(-(-a) - -1)", "sum(a - -1)"], "sum(a - -1)"),
        (["mean(MIN(b, a, min(a, 3)))"], "mean(min(3, a, b))"),
    ],
)
def test_synonyms_have_one_text(texts: list[str], canonical: str) -> None:
    assert {parse(text).canonical() for text in texts} == {canonical}


def test_columns_are_told_apart_by_case() -> None:
    assert parse("sum(A)") != parse("sum(a)")


def test_between_is_two_conditions() -> None:
    assert parse("count where a between 1 and 2 and b = 3") == parse("count where a >= 1 and a <= 2 and b = 3")


def test_unequal_has_two_spellings() -> None:
    assert parse("count where a <> 1") == parse("count where a != 1")


def test_keywords_can_be_columns() -> None:
    assert parse("sum(by) where where = 1 and and = 2 by by").canonical() == "sum(by) where and = 2 and where = 1 by by"


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("", 1, "begins with count"),
        ("mode(a)", 1, "begins with count"),
        ("min(a)", 1, r"one person's value; write low\(COLUMN\), which is its 0.05 quantile"),
        ("MAX(a) by b", 1, r"write high\(COLUMN\), which is its 0.95 quantile, or quantile\(COLUMN, 0.99\)"),
        ("sum", 4, "expected `\\(`"),
        ("sum()", 5, "name of a column, a number"),
        ("sum(a b)", 7, "after the expression"),
        ("sum(a*)", 7, "name of a column, a number"),
        ("quantile(a)", 11, r"such as quantile\(COLUMN, 0.9\)"),
        ("quantile(a, 1)", 13, "above 0 and below 1"),
        ("quantile(a, 0.5, 0.1234567)", 18, "at most 4 decimals"),
        ("quantile(a, 'x')", 13, "level of a quantile"),
        ("quantile(a, b)", 13, "number"),
        ("median(a, 0.9)", 9, "after the expression"),
        ("top(5)", 7, r"top\(5\) by COLUMN"),
        ("top(0) by a", 5, "from 1 to 1000"),
        ("top(1.5) by a", 5, "a whole number"),
        ("top(a) by a", 5, "number"),
        ("count_distinct(a + b)", 18, "after the column"),
        ("count(a)", 7, "counts rows"),
        ("count where", 12, "name of a column"),
        ("count where 1 = a", 13, "name of a column"),
        ("count where a", 14, "expected = !="),
        ("count where a is null", 15, "NULL meets no condition"),
        ("count where a like 'x'", 15, "expected = !="),
        ("count where a = b", 17, "number or a 'text'"),
        ("count where a = 1 or b = 2", 19, "joined by `and` only"),
        ("count where a = 1, b = 2", 18, "expected `and`, `by` or the end"),
        ("count where a in ()", 19, "number or a 'text'"),
        ("count where a in (1 2)", 21, "expected `\\)`"),
        ("count where a in (1, 'x')", 19, "all numbers or all texts"),
        ("count where a between 1, 2", 24, "expected `and`"),
        ("count where a = 1e999", 17, "at most 40 digits"),
        ("count by", 9, "name of a column"),
        ("count by a where b = 1", 12, "`where` stands before"),
        ("count by a b", 12, "expected `,` or the end"),
        ("count count", 7, "expected `where`, `by` or the end"),
        ("count(*) from t", 10, "joins none"),
        ("count(*) where a = 1 join t", 22, "joins none"),
    ],
)
def test_what_is_no_question_is_pointed_at_with_what_may_stand_there(text: str, position: int, hint: str) -> None:
    with pytest.raises(QuestionTextError, match=hint) as caught:
        parse(text)
    assert caught.value.position == position
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "text", ["count where a = 'sesame-31", "count where a = 'x' 'sesame-31'", "sum(a) where 'sesame-31'"]
)
def test_errors_do_not_repeat_a_text_of_the_question(text: str) -> None:
    with pytest.raises(QuestionTextError) as caught:
        parse(text)
    assert "sesame" not in str(caught.value) + repr(caught.value)


QUESTION_WORDS = [
    "count",
    "sum",
    "quantile",
    "top",
    "(",
    ")",
    "*",
    ",",
    "a",
    "where",
    "and",
    "by",
    "in",
    "between",
    "=",
]
EXPRESSION_WORDS = ["+", "-", "/", "<", "1", "0.5", "'x'", "case", "when", "then", "else", "end", "min", "abs"]
pieces = st.sampled_from([*QUESTION_WORDS, *EXPRESSION_WORDS])


@given(st.lists(pieces, max_size=14).map(" ".join))
def test_any_text_is_a_question_or_one_error(text: str) -> None:
    try:
        question = parse(text)
    except QuestionError:
        return
    assert parse(question.canonical()) == question
