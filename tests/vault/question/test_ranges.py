import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.expression import Comparison
from vault.policy import ColumnType
from vault.question import parse
from vault.question.filtering import matches
from vault.question.ranges import NothingMeetsError, in_ranges

KINDS: dict[str, ColumnType] = {"i": "int", "f": "float", "s": "str"}
operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
small = st.integers(-3, 3).map(Decimal)
halves = st.sampled_from([Decimal(at) / 2 for at in range(-4, 5)])
of_ints = st.builds(lambda o, v: Comparison("i", o, (v,)), operators, small) | st.builds(
    lambda v: Comparison("i", "in", tuple(v)), st.lists(small, min_size=1, max_size=4)
)
of_floats = st.builds(lambda o, v: Comparison("f", o, (v,)), operators, halves)
of_texts = st.builds(
    lambda o, v: Comparison("s", o, tuple(v) if o == "in" else tuple(v[:1])),
    st.sampled_from(["=", "!=", "in"]),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
)


def spelled(text: str) -> str:
    found = in_ranges(parse(f"count where {text}").where, KINDS)
    return parse("count").canonical().removesuffix("count(*)") + " and ".join(map(str, found))


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (
            ["i >= 3 and i < 10", "i > 2 and i <= 9", "i between 3 and 9", "i < 10 and i >= 3 and i > 1"],
            "i <= 9 and i >= 3",
        ),
        (["i > 2 and i < 4", "i = 3", "i in (3)", "i = 3 and i >= 1", "i in (2, 3, 4) and i != 2 and i < 4"], "i = 3"),
        (["i >= 3 and i != 3 and i != 4", "i > 4"], "i >= 5"),
        (["i <= 3 and i != 3", "i < 3", "i <= 2 and i != 7"], "i <= 2"),
        (["i in (1, 2, 3)", "i between 1 and 3", "i in (3, 2, 1) and i != 7"], "i <= 3 and i >= 1"),
        (["i in (1, 3)", "i between 1 and 3 and i != 2", "i in (1, 2, 3) and i <> 2"], "i in (1, 3)"),
        (["i in (1, 2, 3, 5)", "i >= 1 and i <= 5 and i != 4"], "i != 4 and i <= 5 and i >= 1"),
        (["i in (5, 6)", "i >= 5 and i < 7"], "i in (5, 6)"),
        (
            [
                "i >= -9223372036854775808",
                "i <= 9223372036854775807",
                "i between -9223372036854775808 and 9223372036854775807",
            ],
            "i >= -9223372036854775808",
        ),
        (["i <= 5", "i <= 5 and i >= -9223372036854775808"], "i <= 5"),
        (["i != 5", "i != 5 and i <= 9223372036854775807"], "i != 5"),
        (
            ["i in (9223372036854775805, 9223372036854775806, 9223372036854775807)", "i > 9223372036854775804"],
            "i >= 9223372036854775805",
        ),
        (["f >= 3 and f != 3", "f > 3", "f > 3 and f >= 3"], "f > 3"),
        (["f >= 3 and f <= 3", "f = 3.0"], "f = 3"),
        (["f = 0.1", "f = 0.1000000000000000055511151231257827"], "f = 0.1"),
        (["i in (1, 2, 3) and i > 1", "i in (3, 2)"], "i in (2, 3)"),
        (["s in ('a', 'b') and s != 'a'", "s = 'b'", "s = 'b' and s != 'c'"], "s = 'b'"),
        (["s != 'b' and s != 'a'", "s != 'a' and s != 'b' and s != 'a'"], "s != 'a' and s != 'b'"),
    ],
)
def test_what_allows_the_same_has_one_spelling(texts: list[str], one: str) -> None:
    assert {spelled(text) for text in texts} == {one}


@pytest.mark.parametrize(
    "text",
    [
        "i > 3 and i < 4",
        "i = 1 and i = 2",
        "i in (1, 2) and i > 2",
        "i = 1 and i != 1",
        "i >= 1 and i <= 2 and i != 1 and i != 2",
        "i > 9223372036854775807",
        "i < -9223372036854775808",
        "f > 1 and f < 1",
        "f >= 1 and f <= 1 and f != 1",
        "s = 'a' and s = 'b'",
        "s in ('a', 'b') and s != 'a' and s != 'b'",
    ],
)
def test_what_no_value_meets_names_its_column(text: str) -> None:
    with pytest.raises(NothingMeetsError) as caught:
        spelled(text)
    assert caught.value.column == text[0]


@given(st.lists(of_ints | of_floats | of_texts, min_size=1, max_size=6))
def test_the_same_rows_meet_it_before_and_after(where: list[Comparison]) -> None:
    values: dict[str, list[object]] = {
        "i": [*range(-6, 7), None],
        "f": [at / 4 for at in range(-12, 13)] + [None, math.nan, math.inf],
        "s": [*"abcd", None],
    }

    def met(conditions: list[Comparison], column: str) -> list[bool]:
        kept = [True] * len(values[column])
        for one in conditions:
            if one.column == column:
                kept = [a and b for a, b in zip(kept, matches(one, values[column], KINDS[column]), strict=True)]
        return kept

    try:
        after = list(in_ranges(where, KINDS))
    except NothingMeetsError as error:
        nowhere = error.column
    else:
        nowhere = ""
    if nowhere:
        assert not any(met(where, nowhere))
        return
    assert {one.column for one in after} == {one.column for one in where}
    for column in values:
        assert met(where, column) == met(after, column)
    assert list(in_ranges(after, KINDS)) == after


@given(st.lists(of_ints, min_size=1, max_size=6))
def test_ranges_of_whole_numbers_that_allow_the_same_are_the_same(where: list[Comparison]) -> None:
    def allowed(conditions: list[Comparison]) -> list[int]:
        return [at for at in range(-9, 10) if all(matches(one, [at], "int")[0] for one in conditions)]

    inside = allowed(where)
    if not inside or 9 in inside or -9 in inside:
        return
    assert in_ranges(where, KINDS) == in_ranges([Comparison("i", "in", tuple(map(Decimal, inside)))], KINDS)
