"""Change section: what was before, what was declared with a lifetime, and why."""

from tests.vault.reporting.entries import NANO, at, collected, lifetime, policy
from vault.reporting.change_section import change_section, moment
from vault.reporting.page import Grid

LOG = [
    policy(at(6, 1), 3 * NANO),
    policy(at(9, 1), 4 * NANO, before=3 * NANO, delta=10**12),
    {"kind": "epoch", "at": at(9, 2), "dataset": "visits", "epoch": 2, "reason": "a new year"},
    policy(at(10, 2), 5 * NANO),
]
BESIDE = {
    "scopes": [["analyst", "", "day", NANO // 10], ["column", "age", "ever", NANO]],
    "members": [["team", "ana"]],
    "least_nano_epsilon": NANO // 100,
    "most_nano_epsilon": NANO // 2,
    "separate": "not a copy",
    "accepted": True,
    "reason": "asked for by the board",
}


def rows(entries: list[dict[str, object]]) -> list[tuple[str, ...]]:
    (grid,) = (part for part in change_section(collected(entries)).parts if isinstance(part, Grid))
    return list(grid.rows)


def test_changes_say_what_was_before_and_why() -> None:
    now = "epsilon 4, delta 0.000001"
    assert rows(LOG) == [
        ("2", "2026-09-01 12:00 UTC", "visits", f"lifetime {now}, before epsilon 3", "none was given"),
        ("3", "2026-09-02 12:00 UTC", "visits", "epoch 2: questions get new answers, at new charges", "a new year"),
    ]


def test_what_was_declared_with_the_lifetime_is_told() -> None:
    ((_, _, _, told, reason),) = rows([policy(at(7, 1), NANO) | BESIDE])
    assert told == (
        "lifetime epsilon 1; each analyst: 0.1 a day; column age: 1 for ever; ana is in team; a question costs at least"
        " 0.01 and at most 0.5; a budget of its own: not a copy; accepted past the soft limit"
    )
    assert reason == "asked for by the board"


def test_a_shared_lifetime_names_its_datasets() -> None:
    assert rows([policy(at(6, 1), NANO), lifetime(at(7, 1), 2 * NANO, "visits")])[0][2:] == (
        "all",
        "lifetime epsilon 2; shared by visits",
        "they are the same persons",
    )


def test_where_nothing_changed_that_is_said() -> None:
    assert change_section(collected([])).parts == ["None."]


def test_moments_are_shown_in_utc() -> None:
    assert moment(at(7, 1, 23)) == "2026-07-01 23:00 UTC"


def test_a_lifetime_of_copies_is_not_told_by_its_digest() -> None:
    ((_, _, whose, told, _), *_) = rows([lifetime(at(7, 1), 2 * NANO, name=f"copies of {'ab' * 32}")])
    assert (whose, told) == ("copies", "lifetime epsilon 2")
