"""Whether a charge fits, and what is said where it does not."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from dp.accounting.concentrated import epsilon_of
from dp.errors import BudgetExhaustedError, ParameterError
from dp.ledger.answers import Claim
from dp.ledger.errors import QuestionPriceError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.room import stand_alone
from dp.ledger.limits.spans import DAY, HOUR
from dp.ledger.store.schema import charge
from dp.price import Price
from tests.dp.ledger.charging import charged
from tests.dp.ledger.sealing import a_request, fresh_ledger, ledger_on
from tests.dp.ledger.test_policy_change import entries
from tests.sizes import sized

pytestmark = pytest.mark.databases_in_turn

EPSILON = 10**9
NOON = 20_000 * DAY + 12 * HOUR


class Clock:
    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> int:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(engine: Engine, clock: Clock) -> Ledger:
    return ledger_on(engine, now=clock)


def declare(ledger: Ledger, *scopes: Scope, **others: Any) -> None:
    ledger.declare("people", Budgets(others.pop("lifetime_nano", 5 * EPSILON), scopes=scopes, **others))


def test_a_day_refills_when_its_hour_has_left_the_window_and_the_lifetime_does_not(timed: Ledger, clock: Clock) -> None:
    declare(timed, Scope("dataset", "", "day", EPSILON))
    assert charged(timed, EPSILON, "first")
    clock.time += 24 * HOUR
    with pytest.raises(BudgetExhaustedError) as refusal:
        timed.charge(a_request(1, "second"))
    assert str(refusal.value) == (
        "this answer costs epsilon 0.000000001 a person and the budget of a day of dataset 'people' has 0 left; ask"
        " with a smaller epsilon, wait until 2024-10-05 13:00 UTC, or ask again a question that was answered before,"
        " which costs nothing"
    )
    assert (refusal.value.scope, refusal.value.refills_at) == ("the budget of a day", NOON + 25 * HOUR)
    clock.time += HOUR
    assert charged(timed, EPSILON, "third")
    assert timed.status("people").spent == 2 * EPSILON
    timed.verify_audit()


def test_a_clock_that_is_set_back_refills_nothing_and_charges_the_later_bucket(timed: Ledger, clock: Clock) -> None:
    declare(timed, Scope("dataset", "", "day", EPSILON))
    assert charged(timed, EPSILON // 2, "first")
    for back in (HOUR, 400 * DAY, NOON):
        clock.time = NOON - back
        assert not charged(timed, EPSILON, f"all, {back}")
    assert charged(timed, EPSILON // 2, "the other half")
    assert not charged(timed, 1, "one more")
    timed.verify_audit()


def test_it_says_when_so_much_will_fit_and_for_what_never_will_nothing(timed: Ledger, clock: Clock) -> None:
    declare(timed, Scope("dataset", "", "day", 10))
    for hours in (0, 2, 3):
        clock.time = NOON + hours * HOUR
        assert charged(timed, 3, f"hour {hours}")
    for nano, when in ((2, 25), (4, 25), (5, 27), (10, 28), (11, None)):
        with pytest.raises(BudgetExhaustedError) as refusal:
            timed.charge(a_request(nano, "another"))
        assert refusal.value.refills_at == (None if when is None else NOON + when * HOUR)
        assert (refusal.value.asked, refusal.value.remaining) == (nano, 1)
    clock.time = NOON + 27 * HOUR
    assert charged(timed, 5, "after all")


@pytest.mark.parametrize("time", [-(10**15), 0, 10**18])
def test_a_clock_of_any_year_is_told_in_the_same_way(timed: Ledger, clock: Clock, time: int) -> None:
    clock.time = time
    declare(timed, Scope("dataset", "", "day", 10))
    assert charged(timed, 10, "first")
    with pytest.raises(BudgetExhaustedError) as refusal:
        timed.charge(a_request(1, "second"))
    assert refusal.value.refills_at == (time // HOUR + 25) * HOUR
    assert ("wait until" in str(refusal.value)) == (time < 10**18)


def test_of_several_that_are_short_it_names_the_one_that_is_so_for_longest(timed: Ledger) -> None:
    declare(timed, Scope("dataset", "", "day", 5), Scope("analyst", "ann", "week", 5), Scope("column", "age", "day", 5))
    assert charged(timed, 5, "first", columns=("age",))
    with pytest.raises(BudgetExhaustedError, match="the budget of a week of analyst 'ann' of dataset 'people' has 0"):
        timed.charge(a_request(1, "second", columns=("age",)))
    with pytest.raises(BudgetExhaustedError, match="the budget of a day of dataset 'people' has 0 left"):
        timed.charge(a_request(1, "second", principal="bob"))


def test_each_analyst_has_a_budget_and_the_group_has_one_for_all_of_it(timed: Ledger) -> None:
    members = tuple(("interns", who) for who in ("ann", "bob", "eve"))
    declare(timed, Scope("analyst", "", "ever", 4), Scope("group", "interns", "week", 9), members=members)
    for who in ("ann", "bob"):
        assert charged(timed, 4, "one", principal=who)
        assert not charged(timed, 1, "two", principal=who)
    assert not charged(timed, 2, "one", principal="eve")
    assert charged(timed, 1, "one", principal="eve")
    assert charged(timed, 4, "one", principal="carol")
    timed.verify_audit()


def test_a_column_is_charged_by_every_question_that_touches_it(timed: Ledger) -> None:
    declare(timed, Scope("column", "age", "ever", 10))
    assert charged(timed, 6, "mean(age)", columns=("age",))
    assert charged(timed, 6, "mean(income)", columns=("income",))
    assert not charged(timed, 6, "mean(income) by age", columns=("age", "income"))
    assert charged(timed, 4, "count where age < 40", columns=("age", "city"))


def test_a_refusal_says_what_is_short_in_the_log_and_nothing_is_spent(timed: Ledger, engine: Engine) -> None:
    declare(timed, Scope("dataset", "", "day", 50), Scope("column", "age", "ever", 3))
    before = timed.status("people")
    assert not charged(timed, 4, "mean(age)", columns=("age",))
    last = entries(engine)[-1]
    assert (last["kind"], last["reason"], last["short"]) == (
        "refusal",
        "budget exhausted",
        "the budget for ever of column 'age'",
    )
    assert timed.status("people") == before
    assert charged(timed, 50, "all of the day")
    timed.verify_audit()


@pytest.mark.every_database
def test_a_charge_names_each_scope_with_its_bucket_and_says_when_it_was(timed: Ledger, engine: Engine) -> None:
    declare(timed, Scope("dataset", "", "day", 50), Scope("analyst", "", "ever", 50))
    assert charged(timed, 4, "one")
    assert entries(engine)[-1]["scopes"] == [["analyst", "ann", "ever", 0, 4], ["dataset", "", "day", NOON // HOUR, 4]]
    with engine.connect() as connection:
        assert connection.scalars(select(charge.c.charged_at)).all() == [NOON] == [entries(engine)[-1]["at"]]


def test_gaussian_noise_costs_a_scope_what_its_rho_alone_converts_to(timed: Ledger) -> None:
    cost = epsilon_of(10**6, 5 * 10**11)
    declare(timed, Scope("column", "age", "ever", 2 * cost), lifetime_atto_delta=10**12)
    for text in ("a", "b"):
        timed.charge(a_request(question_text=text, price=Price.gaussian(10**6), columns=("age",)))
    with pytest.raises(BudgetExhaustedError, match="of column 'age'") as refusal:
        timed.charge(a_request(question_text="c", price=Price.gaussian(10**6), columns=("age",)))
    assert (refusal.value.asked, refusal.value.unit) == (cost, "epsilon")


@pytest.mark.parametrize("declared", [{"scopes": (Scope("column", "age", "ever", EPSILON),)}, {"most_nano": EPSILON}])
def test_nobody_waits_at_the_head_of_the_log_until_rho_is_converted(engine: Engine, declared: dict[str, Any]) -> None:
    """now() is called with the head locked, before the room is looked for."""
    converted = []
    ledger = ledger_on(engine, now=lambda: converted.append(epsilon_of.cache_info().misses) or NOON)  # type: ignore[func-returns-value]
    ledger.declare("people", Budgets(EPSILON, 10**12, **declared))
    epsilon_of.cache_clear()
    ledger.charge(a_request(price=Price.gaussian(10**5), columns=("age",)))
    assert (converted[-1], epsilon_of.cache_info().misses) == (1, 1)
    ledger.declare("others", Budgets(EPSILON, 10**12))
    ledger.charge(a_request(price=Price.gaussian(10**5 + 1), dataset="others"))
    assert epsilon_of.cache_info().misses == 1


def test_without_a_delta_gaussian_noise_is_refused_for_that(timed: Ledger) -> None:
    declare(timed, Scope("column", "age", "ever", 50))
    with pytest.raises(BudgetExhaustedError, match="without a lifetime delta there is no rho to spend"):
        timed.charge(a_request(price=Price.gaussian(1), columns=("age",)))
    with pytest.raises(ParameterError, match=r"^atto_delta: "):
        stand_alone(Price.gaussian(1), 0)


@pytest.mark.parametrize(("nano", "told"), [(9, "at least 0.00000001 "), (21, "and at most 0.00000002")])
def test_a_question_costs_no_less_and_no_more_than_one_may(timed: Ledger, engine: Engine, nano: int, told: str) -> None:
    declare(timed, least_nano=10, most_nano=20)
    with pytest.raises(QuestionPriceError, match=told):
        timed.charge(a_request(nano))
    assert entries(engine)[-1]["reason"] == "price out of range"
    assert timed.status("people").spent == 0
    assert charged(timed, 10, "the least")
    assert charged(timed, 20, "the most")


def test_a_question_of_gaussian_noise_costs_what_its_rho_converts_to(timed: Ledger) -> None:
    cost = epsilon_of(10**6, 5 * 10**11)
    declare(timed, most_nano=cost, lifetime_atto_delta=10**12)
    timed.charge(a_request(price=Price.gaussian(10**6)))
    with pytest.raises(QuestionPriceError):
        timed.charge(a_request(question_text="b", price=Price.gaussian(2 * 10**6)))


def test_a_shared_lifetime_counts_the_questions_of_all_its_datasets(timed: Ledger) -> None:
    declare(timed)
    timed.declare("others", Budgets(5 * EPSILON))
    timed.share_lifetime("both", EPSILON, ["people", "others"])
    assert charged(timed, EPSILON * 3 // 4, "one")
    with pytest.raises(BudgetExhaustedError, match=r"lifetime 'both' of dataset 'others' has 0\.25 left") as refusal:
        timed.charge(a_request(EPSILON // 2, dataset="others"))
    assert (refusal.value.dataset, refusal.value.scope) == ("others", "lifetime 'both'")
    assert charged(timed, EPSILON // 4, "one", dataset="others")
    assert not charged(timed, 1, "two")
    assert timed.status("people").remaining > EPSILON
    timed.verify_audit()


def test_a_shared_lifetime_has_the_rule_of_each_ones_own(timed: Ledger) -> None:
    declare(timed, lifetime_atto_delta=10**12)
    timed.share_lifetime("both", EPSILON, ["people"], lifetime_atto_delta=10**12)
    (shared,) = timed.shared_lifetimes("people")
    rho = shared.status.lifetime_nano_rho
    timed.charge(a_request(price=Price.gaussian(rho)))
    with pytest.raises(BudgetExhaustedError, match=r"costs rho .* lifetime 'both' of dataset 'people' has 0 left"):
        timed.charge(a_request(question_text="b", price=Price.gaussian(1)))
    assert timed.shared_lifetimes("people")[0].status.spent_unbounded == 1
    timed.verify_audit()


def test_a_repeat_is_given_when_every_scope_is_spent(timed: Ledger) -> None:
    declare(timed, Scope("dataset", "", "day", 5))
    claim = timed.charge(a_request(5))
    assert isinstance(claim, Claim)
    timed.store(claim, b"41.5")
    assert not charged(timed, 1, "another")
    assert timed.charge(a_request(5)) == b"41.5"


SPANS_OF = st.lists(st.sampled_from(["day", "week", "month", "quarter"]), min_size=1, max_size=3, unique=True)


@settings(max_examples=sized(10, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spans=SPANS_OF, data=st.data())
def test_whatever_the_clock_does_no_window_holds_more_than_its_cap_and_the_log_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, spans: list[str], data: st.DataObject
) -> None:
    """Against a plain list of charges: by the latest time that the clock had shown when each was made."""
    length = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "quarter": 91 * DAY}
    clock = Clock()
    ledger = fresh_ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}", now=clock)
    caps = {span: data.draw(st.integers(1, 20)) for span in spans}
    declare(ledger, *(Scope("dataset", "", span, cap) for span, cap in caps.items()))
    latest, charges = NOON, []
    jumps = st.sampled_from([0, HOUR, 23 * HOUR, DAY, 25 * HOUR, 7 * DAY, 8 * DAY, 30 * DAY, 92 * DAY])
    steps = data.draw(st.lists(st.tuples(jumps, st.booleans(), st.integers(1, 20)), max_size=12))
    for number, (jump, back, nano) in enumerate(steps):
        clock.time += -jump if back else jump
        latest = max(latest, clock.time)
        if charged(ledger, nano, f"question {number}"):
            charges.append((latest, nano))
    for span, cap in caps.items():
        for start, _ in charges:
            assert sum(n for time, n in charges if start <= time <= start + length[span]) <= cap
    ledger.verify_audit()


@pytest.mark.parametrize("nano", [6, 60])
def test_a_refusal_of_a_request_with_an_id_is_the_same_when_it_comes_again(
    timed: Ledger, clock: Clock, nano: int
) -> None:
    declare(timed, Scope("dataset", "", "day", 5), most_nano=50)
    told = []
    for _ in range(2):
        with pytest.raises((BudgetExhaustedError, QuestionPriceError)) as refusal:
            timed.charge(a_request(nano, request_id="one"))
        told.append((type(refusal.value), str(refusal.value), vars(refusal.value)))
        clock.time += 100 * DAY
    assert told[0] == told[1]
