"""Collecting: each figure of hand-made logs, and that the parts are always the whole."""

from hypothesis import given
from hypothesis import strategies as st

from dp.accounting.either_rule import Limits
from tests.vault.reporting.entries import NANO, QUARTER, asked, at, charge, collected, of_charge, policy
from vault.reporting.amount import NOTHING, Amount
from vault.reporting.figures import Lifetime, Unanswered
from vault.reporting.quarter import DAY

FIRST, LAST = QUARTER.begin, QUARTER.end - 1


def test_what_was_spent_is_told_apart_by_the_borders_of_the_quarter() -> None:
    log = collected(
        [
            policy(at(6, 1), 5 * NANO),
            charge(FIRST - 1, 1),
            charge(FIRST, 10),
            charge(LAST, 100),
            charge(LAST + 1, 1000),
        ]
    )
    (visits,) = log.datasets
    assert (visits.before.nano_epsilon, visits.spent.nano_epsilon, visits.until_end.nano_epsilon) == (1, 110, 111)
    assert (visits.days[0].nano_epsilon, visits.days[-1].nano_epsilon) == (10, 100)
    assert (visits.weeks[0].nano_epsilon, visits.weeks[-1].nano_epsilon) == (10, 100)
    assert (log.kinds, log.later, log.begins_at) == ({"charge": 2}, 1, at(6, 1))


def test_a_charge_is_of_the_day_and_week_of_its_entry() -> None:
    (visits,) = collected([charge(at(7, 6, 0), 1), charge(at(7, 5, 23), 2)]).datasets  # a Monday and a Sunday
    assert [day.nano_epsilon for day in visits.days[4:6]] == [2, 1]
    assert [week.nano_epsilon for week in visits.weeks[:3]] == [2, 1, 0]


def test_the_budget_is_the_one_in_force_at_the_end_of_the_quarter() -> None:
    entries = [policy(at(6, 1), NANO), policy(at(8, 1), 2 * NANO, before=NANO, delta=10), policy(at(10, 1), 3 * NANO)]
    log = collected(entries)
    assert log.datasets[0].lifetime == Lifetime(Limits(2 * NANO, 5, NANO), 10)
    (change,) = log.changes
    assert (change.sequence, change.kind, change.dataset, change.reason) == (2, "policy", "visits", "")
    assert change.members["before_nano_epsilon"] == NANO
    assert not {"at", "key", "previous", "sequence", "dataset"} & change.members.keys()


def test_epochs_have_their_reasons() -> None:
    epoch = {"kind": "epoch", "at": at(8, 2), "dataset": "visits", "epoch": 2, "reason": "a new year of data"}
    log = collected([policy(at(6, 1), NANO), epoch, epoch | {"at": at(11, 1), "epoch": 3}])
    assert log.datasets[0].epoch == 2
    assert [(one.kind, one.reason, one.members) for one in log.changes] == [
        ("epoch", "a new year of data", {"epoch": 2})
    ]


def test_analysts_have_what_they_spent_repeats_and_refusals() -> None:
    entries = [
        charge(at(7, 1), 3, "ben"),
        charge(at(7, 2), 4, "ben"),
        asked("repeat", at(7, 3)),
        asked("refusal", at(7, 4)),
        asked("refusal", at(7, 5), "ben", reason="stale epoch"),
        asked("repeat", at(6, 30)),
        asked("refusal", at(6, 30)),
    ]
    (visits,) = collected(entries).datasets
    assert [(one.principal, one.spent.nano_epsilon, one.repeats, one.refusals) for one in visits.analysts] == [
        ("ana", 0, 1, 1),
        ("ben", 7, 0, 1),
    ]
    assert (visits.repeats, visits.refusals) == (1, {"budget exhausted": 1, "stale epoch": 1})


def test_charges_without_an_answer_have_their_cause_if_one_was_recorded() -> None:
    entries = [
        charge(at(7, 1), 1),
        charge(at(7, 1), 2),
        of_charge("unreleased", at(7, 1), "2", cause="OperationalError"),
        charge(at(9, 30), 4),
        charge(at(7, 1), 8),
        of_charge("answer", at(7, 1), "5"),
        of_charge("answer", at(10, 1), "4"),  # after the quarter's end
    ]
    (visits,) = collected(entries).datasets
    assert visits.unanswered == (
        Unanswered("", Amount(1, 1, 1, 0, 0), (1,)),
        Unanswered("OperationalError", Amount(1, 2, 1, 0, 0), (2,)),
    )


def test_a_charge_of_several_questions_is_a_batch() -> None:
    batch = {"nano_rho": 2 * (10**8) ** 2 // (2 * NANO), "atto_delta": 3}  # two questions at 0.1 each
    entries = [
        charge(at(6, 1), 2 * 10**8, **batch),
        charge(at(7, 1), 2 * 10**8, **batch),
        charge(at(7, 1), 10**8),
        charge(at(7, 1), 0, nano_rho=5, unbounded=1),
    ]
    (visits,) = collected(entries).datasets
    account = visits.accounts[-1]
    assert (account.name, account.quarter, account.until_end) == (
        "declared batches (KOV)",
        (2 * 10**8, 3),
        (4 * 10**8, 6),
    )


def test_rho_converts_at_the_half_of_delta_that_is_not_the_questions() -> None:
    (visits,) = collected(
        [policy(at(6, 1), NANO, delta=10**12), charge(at(7, 1), 0, nano_rho=10**7, unbounded=1)]
    ).datasets
    by_sum, by_rho = visits.accounts
    assert by_sum.quarter == (None, 0)
    assert by_rho.quarter[1] == 10**12 // 2


def test_a_dataset_that_nobody_declared_is_told_when_it_was_asked_about() -> None:
    log = collected([asked("refusal", at(7, 1), dataset="others", reason="unknown dataset"), policy(at(10, 5), 1)])
    assert [(one.dataset, one.lifetime) for one in log.datasets] == [("others", None)]


def test_entries_of_other_kinds_are_counted() -> None:
    retired = {"kind": "event", "at": at(7, 1), "what": "key retired", "fields": {}}
    log = collected([retired, retired | {"at": at(6, 1)}, retired | {"kind": "another"}])
    assert (log.kinds, log.datasets) == ({"another": 1, "event": 1}, ())
    assert log.events == {"key retired": 1}


NAMES = st.sampled_from(["ana", "ben", "cleo"])
DATASETS = st.sampled_from(["visits", "stays"])
TIMES = st.integers(QUARTER.begin - 20 * DAY, QUARTER.end + 20 * DAY)
CHARGES = st.builds(
    charge,
    TIMES,
    st.integers(1, 10**12),
    NAMES,
    DATASETS,
    atto_delta=st.integers(0, 10**12),
    nano_rho=st.integers(1, 10**12),
    unbounded=st.integers(0, 1),
)
OTHERS = st.builds(asked, st.sampled_from(["repeat", "refusal"]), TIMES, NAMES, DATASETS)


@given(st.lists(st.one_of(CHARGES, OTHERS), max_size=40))
def test_the_parts_add_up_to_the_whole(entries: list[dict[str, object]]) -> None:
    log = collected(entries)
    inside = [one for one in entries if QUARTER.begin <= int(str(one["at"])) < QUARTER.end]
    assert sum(log.kinds.values()) == len(inside)
    assert sum(one.spent.charges for one in log.datasets) == sum(one["kind"] == "charge" for one in inside)
    for one in log.datasets:
        own = [entry for entry in entries if entry["dataset"] == one.dataset and entry["kind"] == "charge"]
        until = Amount.sum(Amount.of(entry) for entry in own if int(str(entry["at"])) < QUARTER.end)
        assert one.until_end == until
        assert one.spent == Amount.sum(one.days) == Amount.sum(one.weeks)
        assert one.spent == Amount.sum(analyst.spent for analyst in one.analysts)
        assert one.spent == Amount.sum(lost.spent for lost in one.unanswered)
        assert one.repeats == sum(analyst.repeats for analyst in one.analysts)
        assert sum(one.refusals.values()) == sum(analyst.refusals for analyst in one.analysts)


def test_nothing_gives_nothing() -> None:
    log = collected([])
    assert (log.datasets, log.changes, log.kinds, log.later, log.begins_at) == ((), (), {}, 0, None)
    assert Amount.sum([]) == NOTHING
