from tests.vault.watching.logs import asked, entry
from vault.watching.near_duplicates import near_duplicates
from vault.watching.neighbours import neighbours
from vault.watching.thresholds import Thresholds

THREE = Thresholds(near_count=3)


def test_questions_that_differ_in_one_condition_are_told_when_there_are_enough_whoever_asks() -> None:
    log = asked(*(entry(n, f"count(*) where year = {n} and site = 1", who="ab"[n % 2]) for n in range(1, 4)))
    (one,) = near_duplicates(neighbours(log), THREE)
    assert (one.code, one.principals, one.count, one.entries) == ("near-duplicates", ("a", "b"), 3, (1, 2, 3))
    assert one.sentence.startswith(
        "a, b asked 3 questions of dataset visits that differ in the condition on year alone: see whether"
    )
    assert one.texts == tuple(f"count(*) where site = 1 and year = {n}" for n in range(1, 4))
    assert not list(near_duplicates(neighbours(log[:2]), THREE))


def test_so_is_a_question_at_several_prices() -> None:
    log = asked(*(entry(n, "count(*)", epsilon=f"0.{n}") for n in range(1, 4)))
    (one,) = near_duplicates(neighbours(log), THREE)
    assert "that are the same but for the price or the epoch" in one.sentence
    assert one.texts == ("count(*)",)


def test_repeated_charges_of_one_question_are_no_duplicates_more() -> None:
    log = asked(*(entry(n, f"count(*) where year = {n % 2}") for n in range(1, 9)))
    assert not list(near_duplicates(neighbours(log), THREE))
