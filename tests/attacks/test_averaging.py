"""Averaging: to ask the same again and again, in other words or a little otherwise, and take the mean of answers."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

import dp
from dp.errors import BudgetExhaustedError
from dp.ledger.limits.budgets import Budgets
from tests.attacks.broken import EverySecondForNothing, ask_with_half_of_the_noise
from tests.attacks.distinguisher import Counts, Rates, told_apart
from tests.attacks.world import Answered, Pair, World, world
from tests.vault.cli.conftest import Run
from vault import bridge

HALF = dp.parse_epsilon("0.5")
# Each site has two persons, or three.
SITES = Counts(2, 3)


def averaged(worlds: Pair, ask: Callable[[World], Sequence[Answered]]) -> tuple[dict[str, Rates], float]:
    """What the best of estimators makes of the answers, and what they cost by the ledger."""
    before = [one.spent for one in worlds.each]
    absent, present = (ask(one) for one in worlds.each)
    costs = {one.spent - spent for one, spent in zip(worlds.each, before, strict=True)}
    (cost,) = costs  # the charges do not depend on who is there
    return told_apart(absent, present, [SITES] * len(present)), cost / 10**9


def told(attack: str, found: dict[str, Rates], epsilon: float) -> None:
    for name, rates in found.items():
        print(
            f"{attack}, epsilon {epsilon:g}, {name}: there {rates.there}, not there {rates.not_there}"
            f" of {rates.trials}, gain {rates.gain:.3f}, {rates.exceeds(epsilon) or 'within it'}"
        )


@pytest.mark.parametrize("times", [1, 3, 8])
def test_the_gain_of_asking_otherwise_is_bounded_by_what_all_answers_cost(
    worlds: Pair, harmless: Iterator[str], times: int
) -> None:
    conditions = [next(harmless) for _ in range(times)]
    found, epsilon = averaged(
        worlds, lambda one: [one.ask(f"count(*) where {more} by site", HALF) for more in conditions]
    )
    told(f"{times} questions with a harmless condition", found, epsilon)
    assert epsilon == 0.5 * times
    assert not [rates.exceeds(epsilon) for rates in found.values() if rates.exceeds(epsilon)]


def test_the_gain_of_asking_at_once_is_bounded_by_what_the_batch_cost(worlds: Pair, harmless: Iterator[str]) -> None:
    texts = [f"count(*) where {next(harmless)} by site" for _ in range(3)]
    found, epsilon = averaged(worlds, lambda one: one.ask_at_once(texts, HALF))
    told("a batch of 3 questions", found, epsilon)
    assert epsilon == 1.5
    assert not [rates.exceeds(epsilon) for rates in found.values() if rates.exceeds(epsilon)]


@pytest.mark.parametrize("times", [1, 3])
def test_half_of_the_noise_is_caught(
    worlds: Pair, harmless: Iterator[str], monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(bridge, "ask", ask_with_half_of_the_noise)
    conditions = [next(harmless) for _ in range(times)]
    found, epsilon = averaged(
        worlds, lambda one: [one.ask(f"count(*) where {more} by site", HALF) for more in conditions]
    )
    told("half of the noise", found, epsilon)
    assert epsilon == 0.5 * times
    assert any(rates.exceeds(epsilon) for rates in found.values())


def test_a_charge_that_is_left_out_is_caught(
    worlds: Pair, harmless: Iterator[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "ask", EverySecondForNothing())
    conditions = [next(harmless) for _ in range(2)]
    found, epsilon = averaged(
        worlds, lambda one: [one.ask(f"count(*) where {more} by site", 2 * HALF) for more in conditions]
    )
    told("every second for nothing", found, epsilon)
    assert epsilon == 1
    assert any(rates.exceeds(epsilon) for rates in found.values())


SPELLINGS = [
    "count(*) where age >= 40 and age < 94 and ill = 1",
    "COUNT where ill in (1) and age between 40 and 93",
    "count( * )   where age > 39 and age <= 93 and age != 12 and ill = 1.0 and ill = 1",
    "count(*) where ill == 1 and age <= 93 and age >= 40 and age >= 3",
]


@pytest.fixture
def one_world(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "one", sites=3, with_person=True, lifetime="1") as one:
        yield one


def test_however_it_is_spelled_it_is_one_answer_and_one_charge(one_world: World) -> None:
    answers = {one_world.ask(text, HALF, who) for text in SPELLINGS for who in ("ann", "bob")}
    assert len(answers) == 1
    assert one_world.spent == HALF


def by_condition(one: World) -> Iterator[object]:
    return (one.ask(f"count(*) where person != {number}", 10**8) for number in count(100))


def by_epsilon(one: World) -> Iterator[object]:
    return (one.ask("count(*)", 10**8 + number) for number in count())


def by_batch(one: World) -> Iterator[object]:
    return (one.ask_at_once(["count(*)", f"count(*) where person != {number}"], 5 * 10**7) for number in count(100))


def by_epoch(one: World) -> Iterator[object]:
    for number in count():
        yield one.ask("count(*)", 10**8)
        one.ledger.advance_epoch("visits", f"data of week {number}")


@pytest.mark.parametrize(("ways", "answers"), [(by_condition, 10), (by_epsilon, 9), (by_batch, 10), (by_epoch, 10)])
def test_whatever_is_asked_otherwise_is_charged_each_time_until_nothing_is_left(
    one_world: World, ways: Callable[[World], Iterator[object]], answers: int
) -> None:
    asked = ways(one_world)
    before = 0
    for _ in range(answers):
        next(asked)
        assert one_world.spent >= before + 10**8, "no answer is free"
        before = one_world.spent
    with pytest.raises(BudgetExhaustedError):
        next(asked)
    assert before == one_world.spent <= 10**9
    one_world.ledger.verify_audit()


def test_a_copy_under_another_name_has_no_budget_of_its_own(tmp_path: Path) -> None:
    """Where the ledger is told that both have the same rows."""
    names = ("again", "visits")
    with world(tmp_path / "one", sites=3, with_person=True, lifetime="1", datasets=names) as one:
        for name in names:
            one.ledger.declare(name, Budgets(10**9, source="5" * 64), reason="where its rows are")
        for number in range(10):
            one.ask("count(*)", 10**8 - number, dataset=names[number % 2])
        for name in names:
            with pytest.raises(BudgetExhaustedError):
                one.ask("count_units(*)", 10**8, dataset=name)
        spent = [one.ledger.status(name).spent for name in names]
        assert sum(spent) <= 10**9 < sum(spent) + 10**8
        one.ledger.verify_audit()


def test_at_the_command_line_too(loaded: Run) -> None:
    texts = ["count(*) where year >= 1", "COUNT where year > 0", "count where year >= 1.0 and year > -5"]
    values = set()
    for text in texts:
        ended = loaded("ask", text, "--epsilon", "0.4", "--json")
        values.add(json.loads(ended.out)["groups"][0]["exact"])
    assert len(values) == 1
    assert loaded("ask", "count(*) where year >= 1", "--epsilon", "0.41", "--json").status == 0
    refused = loaded("ask", "count(*) where year >= 1 and person != 7", "--epsilon", "0.4")
    assert refused.status == 1
    assert re.match(r"refused: this answer costs epsilon 0\.4 a person", refused.err)
    assert json.loads(loaded("budget", "--json").out)["spent"] == "0.81"
