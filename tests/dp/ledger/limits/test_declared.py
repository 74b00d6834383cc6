"""Budgets, from the tables and back."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from dp.errors import ParameterError, UnknownDatasetError
from dp.ledger.errors import SoftLimitError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.spans import SPANS
from dp.ledger.store.schema import scope
from tests.dp.ledger.test_policy_change import entries
from tests.sizes import sized

pytestmark = pytest.mark.databases_in_turn

NAMES = st.sampled_from(["", "a", "A", "b"])
CAPS = st.integers(0, 10**6)
KEYS = st.one_of(
    st.tuples(st.just("dataset"), st.just(""), st.sampled_from([name for name in SPANS if name != "ever"])),
    st.tuples(st.just("analyst"), NAMES, st.sampled_from(list(SPANS))),
    st.tuples(st.sampled_from(["column", "group"]), NAMES.filter(bool), st.sampled_from(list(SPANS))),
)


@st.composite
def any_budgets(draw: st.DrawFn) -> Budgets:
    scopes = tuple(Scope(*key, cap) for key, cap in draw(st.dictionaries(KEYS, CAPS, max_size=6)).items())
    groups = sorted({each.subject for each in scopes if each.kind == "group"})
    pairs = st.tuples(st.sampled_from(groups), NAMES.filter(bool))
    members = tuple(draw(st.sets(pairs, max_size=3))) if groups else ()
    least = draw(CAPS)
    source = draw(st.sampled_from(["", "ab" * 32]))
    return Budgets(
        draw(st.integers(1, 10**9)), draw(CAPS), scopes, members, least, least, source, draw(st.sampled_from(["", "x"]))
    )


@settings(max_examples=sized(10, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(any_budgets(), min_size=1, max_size=3))
def test_what_was_declared_last_is_what_is_there(ledger: Ledger, declared: list[Budgets]) -> None:
    for budgets in declared:
        ledger.declare("people", budgets, reason="another")
        assert ledger.budgets("people") == budgets
        assert not ledger.declare("people", budgets)


def test_a_lifetime_alone_leaves_all_else_as_it_is(ledger: Ledger) -> None:
    budgets = Budgets(10**9, scopes=(Scope("dataset", "", "day", 5),), most_nano=7)
    ledger.declare("people", budgets, reason="a day")
    assert ledger.declare("people", 5, lifetime_atto_delta=2, reason="a test", accept=True)
    assert ledger.budgets("people") == Budgets(5, 2, budgets.scopes, most_nano=7)


def test_a_change_is_on_record_with_its_reason(ledger: Ledger, engine: Engine) -> None:
    ledger.declare("people", Budgets(5, scopes=(Scope("column", "age", "ever", 3),)), reason="the board said so")
    last = entries(engine)[-1]
    assert (last["reason"], last["scopes"], last["accepted"]) == (
        "the board said so",
        [["column", "age", "ever", 3]],
        False,
    )


def test_a_scope_that_is_declared_no_more_is_kept_without_a_cap(ledger: Ledger, engine: Engine) -> None:
    ledger.declare("people", Budgets(5, scopes=(Scope("column", "age", "ever", 3),)), reason="one")
    ledger.declare("people", Budgets(5), reason="none")
    with engine.connect() as connection:
        assert connection.execute(select(scope.c.subject, scope.c.cap_nano_epsilon)).all() == [("age", None)]


def test_a_change_needs_a_reason_and_beyond_the_soft_limit_to_be_accepted(ledger: Ledger, engine: Engine) -> None:
    with pytest.raises(ParameterError, match=r"^reason: "):
        ledger.declare("people", Budgets(2 * 10**9))
    with pytest.raises(SoftLimitError):
        ledger.declare("people", Budgets(11 * 10**9), reason="more")
    assert ledger.status("people").lifetime == 10**9
    assert len(entries(engine)) == 1
    assert len(ledger.declare("people", Budgets(11 * 10**9), reason="more", accept=True).warnings) == 1
    (warning,) = ledger.declare("others", Budgets(11 * 10**9)).warnings
    assert warning == "dataset 'others' may cost one person epsilon 11 a year, above 10"


def test_a_dataset_nobody_declared_is_named(ledger: Ledger) -> None:
    with pytest.raises(UnknownDatasetError, match=r"'nobody'.*declare"):
        ledger.budgets("nobody")
