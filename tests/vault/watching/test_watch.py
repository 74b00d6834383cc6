from dataclasses import replace

from dp.ledger.verifying.logged import Logged
from tests.vault.watching.logs import DAY, POLICY, declared, entry
from vault.watching.watch import CODES, watch

CAP = 10**8
LOG = [
    declared(1, [("analyst", "", "day", CAP)]),
    *(
        entry(
            n,
            f"count(*) where year = {n}",
            epsilon="0.001",
            at=DAY * 10 + n,
            scopes=[("analyst", "ann", "day", 1, CAP)],
        )
        for n in range(2, 25)
    ),
    entry(30, "count(*) where person = 7", at=DAY * 11, scopes=[("analyst", "ann", "day", 1, CAP)]),
    entry(31, "count(*) where age != 93", at=DAY * 12, scopes=[("analyst", "ann", "day", 1, CAP)]),
    entry(32, "count(*)", at=DAY * 13),
]


def test_every_pattern_is_told_in_the_order_of_its_weight() -> None:
    found = watch(LOG, POLICY)
    assert list(dict.fromkeys(one.code for one in found)) == list(CODES)
    assert all(one.entries == tuple(sorted(one.entries)) for one in found)


def test_what_was_asked_before_does_not_count_and_what_was_declared_then_does() -> None:
    assert {one.code for one in watch(LOG, POLICY, since=DAY * 11)} == {"differ-by-few", "singled-out"}
    assert watch(LOG, POLICY, since=DAY * 14) == []


def test_other_entries_and_datasets_that_the_policy_does_not_name_are_passed_over() -> None:
    others = [Logged(n, {"kind": kind, "at": n}) for n, kind in enumerate(["repeat", "key", "job"], 40)]
    gone = [replace(one, fields={**one.fields, "dataset": "gone"}) for one in LOG]
    assert watch([*others, *gone], POLICY) == []


def test_no_warning_says_more_than_the_questions_do() -> None:
    """Texts stand apart, for whoever may see them: the sentence names columns and no value."""
    for one in watch(LOG, POLICY):
        assert "93" not in one.sentence
        assert "person = 7" not in one.sentence
