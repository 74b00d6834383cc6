"""Key sections: the state of each key, when its rows were counted, what happened in the quarter, what is due."""

from datetime import UTC, datetime, timedelta

from kms import KeyState
from tests.vault.reporting.entries import MOMENT, key, report
from vault.reporting.key_sections import due_section, key_section
from vault.reporting.page import Grid
from vault.reporting.report import Due, KeyFigures, KeyringsBeside

IN = datetime(2026, 8, 1, 10, tzinfo=UTC)


def grids(*keys: KeyFigures) -> list[Grid]:
    return [part for part in key_section(report(keys=keys)).parts if isinstance(part, Grid)]


def test_a_key_is_told_with_its_age_rows_and_when_they_were_counted() -> None:
    (grid,) = grids(key())
    made = "2026-03-16 09:30 UTC"
    row = ("01020304", "data", "active for 200 days", made, made, "300", "5", "2026-10-02 09:30 UTC")
    assert list(grid.rows) == [row]


def test_rows_that_were_never_counted_are_not_told_as_none() -> None:
    (grid,) = grids(key(rows=None, counted_at=None))
    assert grid.rows[0][-2:] == ("never counted", "")


def test_a_retired_key_is_kept_until_its_wait_is_over() -> None:
    retired, destroyed = (grids(key(state))[0].rows[0][2] for state in (KeyState.RETIRED, KeyState.DESTROYED))
    assert (retired, destroyed) == ("retired, kept until 2026-10-02 09:30 UTC", "destroyed")


def test_what_happened_in_the_quarter_is_told_in_order() -> None:
    _, happened = grids(key(made=IN), key(KeyState.DEACTIVATED, changed=IN - timedelta(days=1)), key())
    assert [row[0] for row in happened.rows] == ["2026-07-31 10:00 UTC", "2026-08-01 10:00 UTC"]
    assert [row[-1] for row in happened.rows] == ["became deactivated", "made"]


def test_a_key_of_another_quarter_made_nothing_happen() -> None:
    section = key_section(report(keys=(key(made=datetime(2026, 10, 1, tzinfo=UTC)),)))
    assert "No key of it was made or changed its state in 2026Q3." in section.parts


def test_the_rule_and_other_keyrings_are_told() -> None:
    section = key_section(report(beside=KeyringsBeside(2, {"active": 4, "retired": 1})))
    assert "The policy rotates the data key after 90 days." in str(section.parts[0])
    assert section.parts[-1] == "Other keyrings in the key store: 2, with these keys: 4 active, 1 retired."
    assert "rotates no key by its age" in str(key_section(report(rotate_after=None)).parts[0])


def test_what_is_due_and_what_could_not_be_looked_at_are_told() -> None:
    section = due_section(
        report(due=(Due("verify", "visit", "long ago"), Due("audit-head", "", "no head", fault=True)))
    )
    (grid,) = (part for part in section.parts if isinstance(part, Grid))
    assert list(grid.rows) == [("verify", "visit", "long ago"), ("audit-head", "", "could not be looked at: no head")]
    assert due_section(report(due=())).parts == ["Nothing."]
    assert "2026-10-02 09:30 UTC" in due_section(report(made_at=MOMENT)).title
