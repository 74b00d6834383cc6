"""Difference: two questions that differ by the one person whom a condition leaves out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

import dp
from tests.attacks.broken import EverySecondForNothing, ask_with_half_of_the_noise
from tests.attacks.distinguisher import Counts, Rates, told_apart
from tests.attacks.world import TARGET_AGE, Answered, Pair, World
from vault import bridge

EPSILON = dp.parse_epsilon("1")


@dataclass(frozen=True)
class Questions:
    """conditions: of the two. exact: what each would be without noise, without the person and with them."""

    conditions: tuple[str, str]
    exact: tuple[Counts, Counts]


# All who are ill, and all but whoever is as old as the person: the difference is the person.
DIFFERENCE = Questions(("ill = 1", f"ill = 1 and age != {TARGET_AGE}"), (Counts(2, 3), Counts(2, 2)))
# All who are ill, and those of them who are not among the others: the person is in both.
TRACKER = Questions(("ill = 1", "ill = 1 and age != 40"), (Counts(2, 3), Counts(0, 1)))
Asks = Callable[[World, list[str]], Sequence[Answered]]


def one_by_one(one: World, texts: list[str]) -> list[Answered]:
    return [one.ask(text, EPSILON) for text in texts]


def at_once(one: World, texts: list[str]) -> list[Answered]:
    """In the order of the texts, whatever that of the batch is."""
    given = dict(zip(sorted(texts), one.ask_at_once(sorted(texts), EPSILON), strict=True))
    return [given[text] for text in texts]


def attacked(worlds: Pair, harmless: Iterator[str], questions: Questions, ask: Asks) -> tuple[dict[str, Rates], float]:
    """What the two answers tell of the person, and what they cost by the ledger. By site, in each of which one is."""
    more = next(harmless)
    texts = [f"count(*) where {condition} and {more} by site" for condition in questions.conditions]
    before = [one.spent for one in worlds.each]
    absent, present = (ask(one, texts) for one in worlds.each)
    (cost,) = {one.spent - spent for one, spent in zip(worlds.each, before, strict=True)}
    found = told_apart(absent, present, questions.exact)
    if questions is DIFFERENCE:
        found["minus"] = minus(absent, present)
    for name, rates in found.items():
        told = rates.exceeds(cost / 10**9) or "within it"
        print(f"difference, epsilon {cost / 10**9:g}, {name}: gain {rates.gain:.3f} in {rates.trials} trials, {told}")
    return found, cost / 10**9


def minus(absent: Sequence[Answered], present: Sequence[Answered]) -> Rates:
    """As who has no statistics does it: one answer minus the other, and there is somebody where it is 1 or more."""
    there, not_there = (
        sum(one - other >= 1 for one, other in zip(first.values, second.values, strict=True))
        for first, second in (present, absent)
    )
    return Rates(there, not_there, len(present[0].values))


@pytest.mark.parametrize("ask", [one_by_one, at_once])
@pytest.mark.parametrize("questions", [DIFFERENCE, TRACKER], ids=["difference", "tracker"])
def test_two_questions_that_differ_by_one_person_tell_no_more_than_they_cost(
    worlds: Pair, harmless: Iterator[str], questions: Questions, ask: Asks
) -> None:
    found, epsilon = attacked(worlds, harmless, questions, ask)
    assert epsilon == 2, "a condition more is another question, and both add"
    assert not [rates.exceeds(epsilon) for rates in found.values() if rates.exceeds(epsilon)]


def test_half_of_the_noise_is_caught(worlds: Pair, harmless: Iterator[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "ask", ask_with_half_of_the_noise)
    found, epsilon = attacked(worlds, harmless, TRACKER, one_by_one)
    assert epsilon == 2
    assert any(rates.exceeds(epsilon) for rates in found.values())


def test_a_charge_that_is_left_out_is_caught(
    worlds: Pair, harmless: Iterator[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "ask", EverySecondForNothing())
    found, epsilon = attacked(worlds, harmless, TRACKER, one_by_one)
    assert epsilon == 1
    assert any(rates.exceeds(epsilon) for rates in found.values())
