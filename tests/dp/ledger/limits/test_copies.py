"""Datasets with the same rows."""

import pytest
from sqlalchemy import Engine

from dp.errors import BudgetExhaustedError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets
from tests.dp.ledger.sealing import a_request
from tests.dp.ledger.test_policy_change import entries

pytestmark = pytest.mark.databases_in_turn

EPSILON = 10**9
SOURCE, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def original(ledger: Ledger) -> Ledger:
    """Dataset "people" has a source, and has spent 0.4."""
    assert ledger.declare("people", Budgets(EPSILON, source=SOURCE), reason="its source").warnings == ()
    ledger.charge(a_request(400_000_000))
    return ledger


def test_k24_07_a_copy_under_another_name_warns_and_shares_what_is_left(original: Ledger) -> None:
    (warning,) = original.declare("copy", Budgets(2 * EPSILON, source=SOURCE)).warnings
    assert warning.startswith("dataset 'copy' has the rows of 'people': together they may cost epsilon 1, of which 0.6")
    for name in ("people", "copy"):
        (shared,) = original.shared_lifetimes(name)
        assert (shared.datasets, shared.status.lifetime, shared.status.spent) == (
            ("copy", "people"),
            EPSILON,
            400_000_000,
        )
    assert original.declare("copy", Budgets(2 * EPSILON, source=SOURCE)).warnings == (warning,)


def test_k24_03_what_copies_have_spent_together_is_refused_in_words_and_not_by_a_digest(original: Ledger) -> None:
    original.declare("copy", Budgets(2 * EPSILON, source=SOURCE))
    with pytest.raises(BudgetExhaustedError) as refusal:
        original.charge(a_request(700_000_000, dataset="copy"))
    assert "the lifetime of all copies of dataset 'copy' has 0.6 left" in str(refusal.value)
    assert SOURCE not in str(refusal.value)


def test_k24_07_a_copy_that_is_declared_separate_has_a_lifetime_of_its_own(original: Ledger) -> None:
    declared = Budgets(EPSILON, source=SOURCE, separate="other persons")
    assert original.declare("copy", declared).warnings == ()
    assert original.shared_lifetimes("people") == original.shared_lifetimes("copy") == ()
    assert original.declare("third", Budgets(5, source=SOURCE)).warnings != ()
    assert original.shared_lifetimes("third")[0].datasets == ("people", "third")


@pytest.mark.parametrize("changed", [{"source": OTHER}, {"separate": "other persons"}, {"source": ""}], ids=str)
def test_one_that_is_no_copy_after_all_leaves_and_the_other_stays(original: Ledger, changed: dict[str, str]) -> None:
    original.declare("copy", Budgets(EPSILON, source=SOURCE))
    fields = {"source": SOURCE, **changed}
    assert original.declare("copy", Budgets(EPSILON, **fields), reason="moved").warnings == ()  # type: ignore[arg-type]
    assert original.shared_lifetimes("copy") == ()
    assert original.shared_lifetimes("people")[0].datasets == ("people",)


def test_the_cap_is_the_smallest_of_theirs_whatever_they_are_changed_to(original: Ledger, engine: Engine) -> None:
    original.declare("copy", Budgets(2 * EPSILON, 8, source=SOURCE))
    original.declare("people", Budgets(3 * EPSILON, 6, source=SOURCE), reason="more")
    status = original.shared_lifetimes("copy")[0].status
    assert (status.lifetime, status.lifetime_atto_delta, status.spent) == (2 * EPSILON, 6, 400_000_000)
    assert [entry["kind"] for entry in entries(engine)[-4:]] == ["policy", "lifetime", "policy", "lifetime"]
    assert len(entries(engine)) == 7


def test_datasets_of_which_the_source_is_not_known_are_no_copies(original: Ledger) -> None:
    original.declare("others", Budgets(EPSILON))
    assert original.declare("yet others", Budgets(EPSILON)).warnings == ()
    assert original.shared_lifetimes("others") == ()
