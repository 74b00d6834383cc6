import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.expression import QuestionTextError, parse_expression
from vault.expression.grammar import MOST_PARTS


@pytest.mark.parametrize("text", ["case + 1", "max * min", "end", "case when when = 1 then then else end end", "abs"])
def test_keywords_can_be_columns(text: str) -> None:
    assert str(parse_expression(text)) == text


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("", 1, "name of a column, a number"),
        ("a +", 4, "name of a column, a number"),
        ("a b", 3, r"expected \+ - \* / or the end"),
        ("(a", 3, "after the expression"),
        ("log(a)", 1, "abs, min and max"),
        ("min(a)", 6, r"two or more expressions of one row, such as min\(a, 100\)"),
        ("abs(a, b)", 6, "after what abs is of"),
        ("1e999", 1, "at most 40 digits"),
        ("1e399", 1, "beyond the largest float"),
        ("a in (1)", 3, "the end"),
        ("case when a then b end", 13, "expected = !="),
        ("case when a = 1 or b = 2 then c end", 17, "joined by `and`"),
        ("case when a = 1 then b", 23, "after the branches"),
        ("case when a + b = 'x' then c end", 17, "only a column is compared with a 'text'"),
        ("case when a + b in (1) then c end", 17, "by `in`"),
        ("case when a in (1e399) then c end", 13, "beyond the largest float"),
        ("'x'", 1, "name of a column"),
    ],
)
def test_what_is_no_expression_is_pointed_at(text: str, position: int, hint: str) -> None:
    with pytest.raises(QuestionTextError, match=hint) as caught:
        parse_expression(text)
    assert caught.value.position == position
    assert caught.value.__context__ is None


@pytest.mark.parametrize("piece", ["a + ", "(", "-", "abs(", "a * (", "case when a = 1 then "])
def test_an_expression_is_never_deep(piece: str) -> None:
    with pytest.raises(QuestionTextError, match=f"at most {MOST_PARTS} parts"):
        parse_expression(piece * (MOST_PARTS + 1) + "a")


def test_the_largest_expression_is_read_and_written() -> None:
    chain = " + ".join(["a"] * MOST_PARTS)
    assert str(parse_expression(chain)) == chain
    nested = "(a - " * (MOST_PARTS // 2 - 1) + "a" + ")" * (MOST_PARTS // 2 - 1)
    assert parse_expression(str(parse_expression(nested))) == parse_expression(nested)


pieces = st.sampled_from(
    [
        "a",
        "b",
        "1",
        "+",
        "-",
        "*",
        "/",
        "(",
        ")",
        ",",
        "min",
        "abs",
        "case",
        "when",
        "then",
        "else",
        "end",
        "=",
        "'x'",
        "in",
    ]
)


@given(st.lists(pieces, max_size=16).map(" ".join))
def test_any_text_is_an_expression_or_one_error(text: str) -> None:
    try:
        expression = parse_expression(text)
    except QuestionTextError:
        return
    assert parse_expression(str(expression)) == expression


def test_what_between_compares_twice_counts_twice() -> None:
    """So that what stands within many of them does not double with each."""
    text = "a"
    for _ in range(5):
        text = f"case when {text} between 1 and 2 then 3 end"
    with pytest.raises(QuestionTextError, match=f"at most {MOST_PARTS} parts"):
        parse_expression(text)
    of_ten = " + ".join("a" * 10)
    parse_expression(f"case when {of_ten} between 1 and 2 then 3 end")
    with pytest.raises(QuestionTextError, match=f"at most {MOST_PARTS} parts"):
        parse_expression(f"case when {' + '.join('a' * 49)} between 1 and 2 then 3 end")
