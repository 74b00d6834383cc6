from pathlib import Path

from sqlalchemy import insert, select, update

from kms import Purpose
from tests.vault.projects import make_project, visit
from vault.jobs.renewal import current_header, due_values, is_stale, opens, renew_values
from vault.rows.raw_table import raw_table


def test_each_value_is_sealed_anew_or_has_the_reason_why_not(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    table = project.table("visit")
    raw, field = raw_table(table), project.fields(table)["diagnosis"]
    with project.engine.begin() as connection:
        connection.execute(insert(table), [visit(0), visit(1), visit(2)])
        connection.execute(update(raw).where(raw.c.person == 1).values(diagnosis=b"\x01" + bytes(40)))
        page = connection.execute(select(raw).order_by(raw.c.person)).mappings().all()
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    stored = [row["diagnosis"] for row in page]
    rows = [{"person": row["person"], "year": row["year"]} for row in page]
    first, bad, last = renew_values(field, stored, rows)
    assert isinstance(bad, str)
    assert "not a sealed value" in bad
    assert opens(field, stored, rows) == [None, bad, None]
    for new, row in ((first, rows[0]), (last, rows[2])):
        assert isinstance(new, bytes)
        assert new.startswith(current_header(field))
        assert field.open(new, row) == "asthma"


def test_null_is_never_stale_and_what_is_not_sealed_or_of_an_older_generation_always_is() -> None:
    current = b"\x01\x02abcd"
    newer, older = b"\x01\x03abcd" + bytes(28), b"\x01\x01abcd" + bytes(28)
    kinds = [None, b"plain", current + bytes(28), newer, older, current, "x"]
    assert due_values(current, kinds) == [at for at, one in enumerate(kinds) if is_stale(current, one)] == [1, 4, 5, 6]
    assert not is_stale(current, None)
    assert is_stale(current, b"plain")
    assert is_stale(current, "text")
    assert is_stale(current, current)  # too short to be sealed
    assert is_stale(current, b"\x01\x02abce" + bytes(28))
    assert is_stale(current, b"\x01\x01abcd" + bytes(28))
    assert not is_stale(current, b"\x01\x02abcd" + bytes(28))
    assert not is_stale(current, b"\x01\x03abcd" + bytes(28))


def test_of_a_page_of_bytes_those_too_short_to_be_sealed_are_stale_too() -> None:
    current = b"\x01\x02abcd"
    page = [current + bytes(28), b"\x01\x02abce" + bytes(28), current + bytes(28), b"\x07\x02abcd" + bytes(28)]
    assert due_values(current, page) == [1, 3]
    assert due_values(current, [*page, current + bytes(27)]) == [1, 3, 4]
    assert due_values(current, []) == []
