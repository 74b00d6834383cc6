"""Charging: what is spent, refused and served again."""

from contextlib import nullcontext
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from dp.epsilon import parse_epsilon
from dp.errors import BudgetExhaustedError, ParameterError, UnknownDatasetError
from dp.ledger.answers import Claim
from dp.ledger.errors import StaleEpochError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.store.schema import audit, charge
from dp.split import equal_shares
from tests.dp.ledger.sealing import a_request, fresh_ledger
from tests.sizes import sized

pytestmark = pytest.mark.databases_in_turn

TENTH = parse_epsilon("0.1")


@pytest.mark.every_database
def test_k22_01_ten_tenths_are_one_and_the_eleventh_is_refused(ledger: Ledger) -> None:
    for number in range(10):
        assert isinstance(ledger.charge(a_request(TENTH, f"question {number}")), Claim)
    assert ledger.status("people").remaining == 0
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(TENTH, "question 10"))
    assert ledger.status("people").spent == 10**9


def test_k22_01_eleven_equal_shares_of_one_all_fit_and_nothing_is_left(ledger: Ledger) -> None:
    for number, share in enumerate(equal_shares(10**9, 11)):
        assert isinstance(ledger.charge(a_request(share, f"question {number}")), Claim)
    assert (ledger.status("people").spent, ledger.status("people").remaining) == (10**9, 0)
    with pytest.raises(BudgetExhaustedError, match=" 0 left"):
        ledger.charge(a_request(1, "one billionth more"))


@pytest.mark.parametrize("pair", [("age < 40", "age >= 40"), ("age <= 40", "age >= 40")])
def test_k22_07_two_ranges_add_up_whether_they_overlap_or_not(ledger: Ledger, pair: tuple[str, str]) -> None:
    """Also those that do not: a person may have rows on both sides."""
    ledger.declare("people", Budgets(10**9, scopes=(Scope("column", "age", "ever", 8 * TENTH),)), reason="a column")
    for number, condition in enumerate(pair, 1):
        ledger.charge(a_request(3 * TENTH, f"count(*) where {condition}", columns=("age",)))
        assert ledger.status("people").spent == 3 * TENTH * number
    (status,) = ledger.scopes("people")
    assert status.spent_nano == 6 * TENTH
    with pytest.raises(BudgetExhaustedError, match="of column 'age'"):
        ledger.charge(a_request(3 * TENTH, "count(*) where age = 40", columns=("age",)))


@pytest.mark.parametrize("tiny", [5e-324, 1e-20, Decimal("1E-40"), "1e-10", 0])
def test_k22_03_a_charge_too_small_is_refused_and_not_free(ledger: Ledger, tiny: Decimal | float | str) -> None:
    ledger.charge(a_request(10**9))
    with pytest.raises(ParameterError):
        ledger.charge(a_request(parse_epsilon(tiny), "another"))
    assert ledger.status("people").spent == 10**9


def test_the_smallest_charge_there_is_counts(ledger: Ledger) -> None:
    ledger.charge(a_request(10**9 - 1, "all but one"))
    ledger.charge(a_request(1, "the last billionth"))
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(1, "one too many"))


@pytest.mark.parametrize("nano", [10**9 + 1, 10**14 + 1, 10**18])
def test_a_charge_above_the_whole_lifetime_is_refused(ledger: Ledger, nano: int) -> None:
    with pytest.raises(BudgetExhaustedError, match="1 left"):
        ledger.charge(a_request(nano))
    assert ledger.status("people").spent == 0


def test_k24_03_when_the_budget_is_gone_every_further_question_is_the_same_typed_error(ledger: Ledger) -> None:
    ledger.charge(a_request(10**9))
    before = ledger.status("people")
    for number in range(2):
        with pytest.raises(BudgetExhaustedError) as refusal:
            ledger.charge(a_request(TENTH, f"one more {number}"))
        assert "'people'" in str(refusal.value)
        assert " 0 left" in str(refusal.value)
        assert (refusal.value.dataset, refusal.value.remaining) == ("people", 0)
    assert ledger.status("people") == before
    assert ledger.verify_audit().charges == 1


@pytest.mark.every_database
def test_a_repeat_is_free_and_served_when_nothing_is_left(ledger: Ledger) -> None:
    claim = ledger.charge(a_request(10**9))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    assert ledger.charge(a_request(10**9)) == b"41.5"
    assert ledger.charge(a_request(10**9)) == b"41.5"
    assert ledger.status("people").spent == 10**9


def test_a_charge_without_an_answer_is_charged_anew_as_the_next_attempt(ledger: Ledger) -> None:
    claims = [ledger.charge(a_request(TENTH)) for _ in range(3)]
    assert [claim.attempt for claim in claims if isinstance(claim, Claim)] == [1, 2, 3]
    assert ledger.status("people").spent == 3 * TENTH


@pytest.mark.parametrize(
    "other",
    [
        {"question_text": "COUNT(*) WHERE x"},
        {"nano_epsilon": 2 * TENTH},
        {"parameters": "caps=1"},
        {"group_labels": ("a",)},
        {"principal": "bob"},
        {"shared": True},
    ],
    ids=str,
)
def test_another_question_price_parameter_or_asker_is_charged(ledger: Ledger, other: dict[str, object]) -> None:
    claim = ledger.charge(a_request(TENTH))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    assert isinstance(ledger.charge(a_request(**{"nano_epsilon": TENTH, **other})), Claim)  # type: ignore[arg-type]


def test_a_shared_answer_is_given_to_everyone(ledger: Ledger) -> None:
    claim = ledger.charge(a_request(TENTH, shared=True))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    assert ledger.charge(a_request(TENTH, principal="bob", shared=True)) == b"41.5"


def test_an_undeclared_dataset_is_refused_by_name(ledger: Ledger) -> None:
    with pytest.raises(UnknownDatasetError, match="'nobody' has no budget in this ledger; declare"):
        ledger.charge(a_request(dataset="nobody"))
    assert ledger.verify_audit().charges == 0


def test_a_new_epoch_charges_anew_and_the_old_answer_stays_to_be_had(ledger: Ledger) -> None:
    claim = ledger.charge(a_request(TENTH))
    assert isinstance(claim, Claim)
    ledger.store(claim, b"41.5")
    assert ledger.advance_epoch("people", "monthly load") == 2
    assert ledger.charge(a_request(TENTH)) == b"41.5"
    assert isinstance(ledger.charge(a_request(TENTH, epoch=2)), Claim)
    assert ledger.status("people").spent == 2 * TENTH


@pytest.mark.parametrize("epoch", [1, 3])
def test_a_question_of_another_epoch_is_refused(ledger: Ledger, epoch: int) -> None:
    ledger.advance_epoch("people", "monthly load")
    with pytest.raises(StaleEpochError, match=f"is at epoch 2, not {epoch}; read its status"):
        ledger.charge(a_request(TENTH, epoch=epoch))
    assert ledger.status("people").spent == 0


def test_refusals_are_in_the_log_and_the_tables_hold_no_charge_for_them(ledger: Ledger, engine: Engine) -> None:
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(2 * 10**9))
    with engine.connect() as connection:
        assert '"reason":"budget exhausted"' in connection.scalars(select(audit.c.entry)).all()[-1]
        assert connection.execute(select(charge)).all() == []


@pytest.mark.every_database
def test_two_datasets_have_two_budgets(ledger: Ledger) -> None:
    ledger.declare("People", TENTH)
    ledger.charge(a_request(TENTH, dataset="People"))
    assert (ledger.status("People").spent, ledger.status("people").spent) == (TENTH, 0)


def test_the_sums_of_rho_round_up(ledger: Ledger) -> None:
    ledger.charge(a_request(1, "a"))
    ledger.charge(a_request(TENTH, "b"))
    assert ledger.status("people").spent_nano_rho == 1 + TENTH**2 // (2 * 10**9)


@settings(max_examples=sized(15, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(charges=st.lists(st.integers(1, 600), max_size=12))
def test_what_is_spent_is_the_sum_of_what_was_granted_and_never_above_the_lifetime(
    tmp_path_factory: pytest.TempPathFactory, charges: list[int]
) -> None:
    ledger = fresh_ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}")
    ledger.declare("people", 1000, reason="a test", accept=True)
    granted = 0
    for number, nano in enumerate(charges):
        fits = granted + nano <= 1000
        with nullcontext() if fits else pytest.raises(BudgetExhaustedError, match="left"):
            ledger.charge(a_request(nano, f"question {number}"))
        granted += nano if fits else 0
        assert ledger.status("people").spent == granted <= 1000
    ledger.verify_audit()
