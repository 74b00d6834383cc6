"""Colluding: two analysts who put their answers together know no more of a person than the lifetime allows."""

import json
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

import pytest

import dp
from dp.errors import BudgetExhaustedError
from dp.ledger.budgets import Budgets, Scope
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


def test_what_each_analyst_may_spend_does_not_add_up_to_more_than_the_lifetime(one_world: World) -> None:
    """Three who may each spend six tenths have the one lifetime between them."""
    each = Scope("analyst", "", "day", 6 * ONE // 10)
    one_world.ledger.declare("visits", Budgets(ONE, scopes=(each,)), reason="each analyst has a share", accept=True)
    spent = dict.fromkeys((*ANALYSTS, "eve"), 0)
    short: dict[str, str] = {}
    for number, who in zip(range(100, 140), cycle(spent)):
        try:
            one_world.ask(f"count(*) where person != {number}", ONE // 10, who)
        except BudgetExhaustedError as refusal:
            short[who] = str(refusal)
        else:
            spent[who] += ONE // 10
    assert sum(spent.values()) == one_world.spent == ONE
    assert max(spent.values()) <= each.cap_nano
    assert set(short) == set(spent)
    one_world.ledger.verify_audit()


def test_one_analyst_alone_is_stopped_by_their_own_budget_first(one_world: World) -> None:
    each = Scope("analyst", "", "day", 6 * ONE // 10)
    one_world.ledger.declare("visits", Budgets(ONE, scopes=(each,)), reason="each analyst has a share", accept=True)
    for who, answers, named in (("ann", 6, "a day of analyst 'ann'"), ("bob", 4, "dataset 'visits' has 0 left")):
        for number in range(answers):
            one_world.ask(f"count(*) where person != {100 * answers + number}", ONE // 10, who)
        with pytest.raises(BudgetExhaustedError, match=named):
            one_world.ask("count(*) where person != 99", ONE // 10, who)
    assert one_world.spent == ONE


def test_at_the_command_line_too(loaded: Run) -> None:
    statuses = [
        loaded("ask", f"count(*) where person != {number}", "--epsilon", "0.3", "--who", who).status
        for number, who in enumerate(["ann", "bob", "ann", "bob", "eve"], 100)
    ]
    assert statuses == [0, 0, 0, 1, 1]
    assert json.loads(loaded("budget", "--json").out)["spent"] == "0.9"
