"""Colluding: two analysts who put their answers together know no more of a person than the lifetime allows."""

import json
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

import pytest

import dp
from dp.errors import BudgetExhaustedError
from tests.attacks.broken import EverySecondForNothing, ask_with_half_of_the_noise
from tests.attacks.distinguisher import Counts, Rates, told_apart
from tests.attacks.world import Pair, World, world
from tests.vault.cli.conftest import Run
from vault import bridge

ONE = dp.parse_epsilon("1")
ANALYSTS = ("ann", "bob")


def put_together(worlds: Pair, harmless: Iterator[str]) -> tuple[dict[str, Rates], float]:
    """Each asks one question that the other does not; both answers are about the same person."""
    conditions = [next(harmless) for _ in ANALYSTS]
    before = [one.spent for one in worlds.each]
    absent, present = (
        [one.ask(f"count(*) where {more} by site", ONE, who) for who, more in zip(ANALYSTS, conditions, strict=True)]
        for one in worlds.each
    )
    (cost,) = {one.spent - spent for one, spent in zip(worlds.each, before, strict=True)}
    found = told_apart(absent, present, [Counts(2, 3)] * len(ANALYSTS))
    for name, rates in found.items():
        told = rates.exceeds(cost / 10**9) or "within it"
        print(f"two analysts, epsilon {cost / 10**9:g}, {name}: gain {rates.gain:.3f} of {rates.trials}, {told}")
    return found, cost / 10**9


def test_what_two_know_together_is_bounded_by_what_both_were_charged(worlds: Pair, harmless: Iterator[str]) -> None:
    found, epsilon = put_together(worlds, harmless)
    assert epsilon == 2
    assert not [rates.exceeds(epsilon) for rates in found.values() if rates.exceeds(epsilon)]
    assert any(rates.exceeds(epsilon / 2) for rates in found.values()), "each alone was charged half of that"


@pytest.mark.parametrize("broken", [ask_with_half_of_the_noise, EverySecondForNothing()])
def test_what_is_broken_is_caught(
    worlds: Pair, harmless: Iterator[str], monkeypatch: pytest.MonkeyPatch, broken: object
) -> None:
    monkeypatch.setattr(bridge, "ask", broken)
    found, epsilon = put_together(worlds, harmless)
    assert any(rates.exceeds(epsilon) for rates in found.values())


@pytest.fixture
def one_world(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "one", sites=3, with_person=True, lifetime="1") as one:
        yield one


def test_the_lifetime_counts_all_analysts_together(one_world: World) -> None:
    """However many names they have: nobody is given what the others have used."""
    names = cycle(["ann", "bob", "Ann", "ann/2"])
    asked = ((next(names), f"count(*) where person != {number}") for number in count(100))
    for _ in range(10):
        who, text = next(asked)
        one_world.ask(text, ONE // 10, who)
    for who in (*ANALYSTS, "a third one"):
        with pytest.raises(BudgetExhaustedError):
            one_world.ask("sum(age)", 1, who)
    assert one_world.spent == ONE
    one_world.ledger.verify_audit()


@pytest.fixture
def shares(tmp_path: Path) -> Iterator[World]:
    """Each analyst may spend six tenths of the lifetime."""
    rules = 'each_analyst.day = "0.6"\n'
    with world(tmp_path / "shares", sites=3, with_person=True, lifetime="1", rules=rules) as one:
        yield one


def test_what_each_analyst_may_spend_does_not_add_up_to_more_than_the_lifetime(shares: World) -> None:
    spent = dict.fromkeys((*ANALYSTS, "eve"), 0)
    refused: set[str] = set()
    for number, who in zip(range(100, 140), cycle(spent)):
        try:
            shares.ask(f"count(*) where person != {number}", ONE // 10, who)
        except BudgetExhaustedError:
            refused.add(who)
        else:
            spent[who] += ONE // 10
    assert sum(spent.values()) == shares.spent == ONE
    assert max(spent.values()) <= 6 * ONE // 10
    assert refused == set(spent)
    shares.ledger.verify_audit()


def test_one_analyst_alone_is_stopped_by_their_own_budget_first(shares: World) -> None:
    for who, answers, named in (("ann", 6, "a day of analyst 'ann'"), ("bob", 4, "dataset 'visits' has 0 left")):
        for number in range(answers):
            shares.ask(f"count(*) where person != {100 * answers + number}", ONE // 10, who)
        with pytest.raises(BudgetExhaustedError, match=named):
            shares.ask("count(*) where person != 99", ONE // 10, who)
    assert shares.spent == ONE


def test_who_pays_for_answers_of_their_own_gets_others_and_both_are_charged(tmp_path: Path) -> None:
    """One question, asked by two: with answers of their own they have two to average, at two prices."""
    with world(tmp_path / "own", sites=200, with_person=True, lifetime="1", rules='answers = "own"\n') as own:
        first, second = (own.ask("count(*) by site", 4 * ONE // 10, who) for who in ANALYSTS)
        assert first != second
        assert own.ask("count(*) by site", 4 * ONE // 10, "ann") == first
        assert own.spent == 8 * ONE // 10
        with pytest.raises(BudgetExhaustedError):
            own.ask("count(*) by site", 4 * ONE // 10, "eve")


def test_at_the_command_line_too(loaded: Run) -> None:
    statuses = [
        loaded("ask", f"count(*) where person != {number}", "--epsilon", "0.3", "--who", who).status
        for number, who in enumerate(["ann", "bob", "ann", "bob", "eve"], 100)
    ]
    assert statuses == [0, 0, 0, 1, 1]
    assert json.loads(loaded("budget", "--json").out)["spent"] == "0.9"
