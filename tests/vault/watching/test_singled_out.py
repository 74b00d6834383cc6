from fractions import Fraction

import pytest

from tests.vault.watching.logs import POLICY, asked, entry
from vault.question import parse
from vault.watching.neighbours import neighbours
from vault.watching.singled_out import different_by_few, share_of, singled_out
from vault.watching.thresholds import Thresholds
from vault.watching.warning import Warned

ONE_IN_A_HUNDRED = Thresholds(single=Fraction(1, 100))


def filters(*texts: str) -> list[Warned]:
    return list(singled_out(asked(*(entry(n, text) for n, text in enumerate(texts))), POLICY, ONE_IN_A_HUNDRED))


def differences(*texts: str) -> list[Warned]:
    alike = neighbours(asked(*(entry(n, text, who="ab"[n % 2]) for n, text in enumerate(texts))))
    return list(different_by_few(alike, POLICY, ONE_IN_A_HUNDRED))


def test_shares_of_several_columns_are_multiplied() -> None:
    where = parse("count(*) where age > 90 and site = 1 and female = 1").where
    assert share_of(POLICY, "visits", where) == Fraction(1, 10) * Fraction(1, 4)
    assert share_of(POLICY, "visits", ()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "count(*) where age = 93",
        "sum(spending) where age >= 97 and site = 4",
        "count(*) where person = 7",
        "count(*) where name in ('Ann', 'Bob') by site",
    ],
)
def test_a_filter_that_leaves_next_to_nothing_is_told(text: str) -> None:
    (one,) = filters("count(*)", text)
    assert (one.code, one.principals, one.count, one.entries) == ("singled-out", ("ann",), 1, (1,))
    assert one.sentence.startswith("ann asked 1 question of dataset visits whose filter on ")
    assert one.texts == (text,)


@pytest.mark.parametrize("text", ["count(*) where age > 90", "count(*) where female = 1", "count(*) where person > 7"])
def test_a_wide_filter_and_one_of_which_nobody_knows_are_not(text: str) -> None:
    assert filters(text) == []


def test_filters_on_the_same_columns_are_told_together_with_the_smallest_share() -> None:
    (one,) = filters("count(*) where age = 93", "count(*) where age = 94 and site = 1", "count(*) where age = 95")[:1]
    assert (one.count, one.entries) == (2, (0, 2))
    assert "on age leaves 1 % of what is declared" in one.sentence
    assert "next to nothing" in filters("count(*) where person = 7")[0].sentence


@pytest.mark.parametrize(
    "other",
    [
        "count(*) where age != 93",
        "count(*) where person != 7",
        "count(*) where name != 'Ann'",
        "count(*) where age <= 99",
    ],
)
def test_two_wide_filters_whose_difference_is_next_to_nothing_are_told(other: str) -> None:
    (one,) = differences("count(*)", other)
    assert (one.code, one.principals, one.entries, one.count) == ("differ-by-few", ("a", "b"), (0, 1), 1)
    assert one.texts == tuple(sorted(["count(*)", other]))


def test_so_are_two_ranges_and_what_other_columns_leave_counts() -> None:
    assert differences("count(*) where age >= 41", "count(*) where age >= 42")
    assert differences("count(*) where age >= 41 and site = 1", "count(*) where age >= 45 and site = 1")
    assert not differences("count(*) where age >= 41", "count(*) where age >= 45")


def test_what_is_singled_out_by_itself_is_not_told_as_a_difference_too() -> None:
    assert differences("count(*) where person = 7", "count(*) where person = 8") == []
    assert differences("count(*)", "count(*) where female = 1") == []
    assert differences("count(*)", "count(*)") == []


def test_all_who_asked_them_are_told() -> None:
    (one,) = differences("count(*)", "count(*) where age != 93", "count(*) where age != 93")
    assert (one.principals, one.entries, one.count) == (("a", "b"), (0, 1, 2), 1)


def test_many_questions_are_each_compared_with_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vault.watching.singled_out.COMPARED", 3)
    texts = [f"count(*) where person != {n}" for n in range(9)]
    (one,) = differences(*texts)
    assert one.count == 0 + 1 + 2 + 6 * 3
