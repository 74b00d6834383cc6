import pytest

from dp.errors import ParameterError, UnknownDatasetError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn


def test_what_was_declared_is_what_is_there(ledger: Ledger) -> None:
    budgets = Budgets(2 * 10**9, scopes=(Scope("dataset", "", "day", 10**8),), most_nano=10**8)
    assert ledger.declare("people", budgets, reason="a second year")
    assert not ledger.declare("people", budgets, reason="a second year")
    assert ledger.budgets("people") == budgets
    ledger.charge(a_request(10**8))
    (day,) = ledger.scopes("people")
    assert (day.scope, day.spent_nano) == (budgets.scopes[0], 10**8)


def test_lifetimes_are_shared_by_datasets_that_are_there(ledger: Ledger) -> None:
    ledger.declare("visits", 10**9)
    assert ledger.shared_lifetime("persons") is None
    assert ledger.share_lifetime("persons", 10**9, ["people", "visits"])
    shared = ledger.shared_lifetime("persons")
    assert shared is not None
    assert shared.datasets == ("people", "visits")
    assert ledger.shared_lifetimes("people") == ledger.shared_lifetimes("visits") == (shared,)
    with pytest.raises(UnknownDatasetError):
        ledger.share_lifetime("persons", 10**9, ["people", "nobody"], reason="one more")


def test_of_a_dataset_that_is_not_there_nothing_is_told(ledger: Ledger) -> None:
    for ask in (ledger.budgets, ledger.scopes, ledger.status, ledger.epoch_since):
        with pytest.raises(UnknownDatasetError):
            ask("nobody")
    with pytest.raises(UnknownDatasetError):
        ledger.advance_epoch("nobody", "new data")
    with pytest.raises(ParameterError, match="dataset"):
        ledger.declare(" ", 10**9)


def test_an_epoch_is_as_old_as_its_last_advance(ledger: Ledger) -> None:
    declared = ledger.epoch_since("people")
    assert ledger.advance_epoch("people", "new data") == 2
    assert ledger.epoch_since("people") >= declared
    assert ledger.status("people").epoch == 2
