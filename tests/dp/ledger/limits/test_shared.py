"""Lifetimes over several datasets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.accounting.either_rule import Spent
from dp.errors import ParameterError, UnknownDatasetError
from dp.ledger.errors import SoftLimitError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import SharedLifetime
from dp.ledger.limits.shared import joined
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn

EPSILON = 10**9


def test_it_begins_with_what_its_members_spent(ledger: Ledger) -> None:
    ledger.declare("others", EPSILON)
    ledger.charge(a_request(EPSILON // 2))
    ledger.charge(a_request(EPSILON // 4, dataset="others"))
    assert ledger.share_lifetime("both", 2 * EPSILON, ["people", "others"], lifetime_atto_delta=4)
    (shared,) = ledger.shared_lifetimes("others")
    assert (shared.name, shared.datasets) == ("both", ("others", "people"))
    assert (shared.status.lifetime, shared.status.spent, shared.status.question_atto_delta) == (
        2 * EPSILON,
        EPSILON * 3 // 4,
        2,
    )
    assert ledger.shared_lifetimes("people") == (shared,)
    assert not ledger.share_lifetime("both", 2 * EPSILON, ["others", "people"], lifetime_atto_delta=4)


def test_who_leaves_leaves_what_was_spent_and_brings_it_again(ledger: Ledger) -> None:
    ledger.declare("others", EPSILON)
    ledger.charge(a_request(10))
    ledger.share_lifetime("both", EPSILON, ["people", "others"])
    ledger.share_lifetime("both", EPSILON, ["others"], reason="apart")
    assert ledger.shared_lifetimes("people") == ()
    assert ledger.shared_lifetimes("others")[0].status.spent == 10
    ledger.share_lifetime("both", EPSILON, ["people", "others"], reason="together")
    assert ledger.shared_lifetimes("people")[0].status.spent == 20


def test_what_cannot_be_shared_is_refused_and_nothing_changes(ledger: Ledger) -> None:
    with pytest.raises(UnknownDatasetError, match="'nobody' has no budget"):
        ledger.share_lifetime("both", EPSILON, ["people", "nobody"])
    with pytest.raises(ParameterError, match=r"^name: "):
        ledger.share_lifetime("copies of x", EPSILON, ["people"])
    assert ledger.shared_lifetimes("people") == ()


def test_a_change_has_a_reason_and_beyond_the_soft_limit_is_accepted(ledger: Ledger) -> None:
    assert ledger.share_lifetime("one", 11 * EPSILON, ["people"]).warnings
    ledger.share_lifetime("both", EPSILON, ["people"])
    with pytest.raises(ParameterError, match=r"^reason: lifetime 'both' "):
        ledger.share_lifetime("both", 2 * EPSILON, ["people"])
    with pytest.raises(SoftLimitError):
        ledger.share_lifetime("both", 11 * EPSILON, ["people"], reason="more")
    assert ledger.share_lifetime("both", 11 * EPSILON, ["people"], reason="more", accept=True).changed


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"lifetime_nano": 0}, "lifetime_nano"),
        ({"lifetime_atto_delta": -1}, "lifetime_atto_delta"),
        *(({"datasets": datasets}, "datasets") for datasets in (["a"], ("",), ("a", "a"), (None,))),
    ],
    ids=str,
)
def test_one_that_is_none_is_refused(fields: dict[str, object], field: str) -> None:
    with pytest.raises(ParameterError, match=f"^{field}: "):
        SharedLifetime(**{"name": "both", "lifetime_nano": 1, **fields})  # type: ignore[arg-type]


COUNTS = st.integers(0, 2**63 - 1)


@given(st.lists(st.builds(Spent, COUNTS, COUNTS, COUNTS, COUNTS)))
def test_the_sums_of_those_who_join_stay_in_their_columns(all_of_them: list[Spent]) -> None:
    sums = joined(Spent(), all_of_them)
    assert sums.nano_epsilon == min(2**63 - 1, sum(each.nano_epsilon for each in all_of_them))
    assert sums.unbounded == min(2**63 - 1, sum(each.unbounded for each in all_of_them))


def test_a_shared_lifetime_is_found_by_its_name_also_without_a_dataset(ledger: Ledger) -> None:
    assert ledger.shared_lifetime("persons") is None
    ledger.share_lifetime("persons", 10**9, ["people"])
    (of_dataset,) = ledger.shared_lifetimes("people")
    assert ledger.shared_lifetime("persons") == of_dataset
    ledger.share_lifetime("persons", 10**9, [], reason="nobody shares it any more")
    assert ledger.shared_lifetimes("people") == ()
    left = ledger.shared_lifetime("persons")
    assert left is not None
    assert left.datasets == ()
