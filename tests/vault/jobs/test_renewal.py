from pathlib import Path

from sqlalchemy import insert, select, update

from kms import Purpose
from tests.vault.projects import make_project, visit
from vault.jobs.renewal import is_stale, renew
from vault.raw_table import raw_table


def test_only_what_is_due_is_sealed_anew_and_a_bad_row_holds_up_no_other(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    table = project.table("visit")
    raw, fields = raw_table(table), project.fields(table)
    with project.engine.begin() as connection:
        connection.execute(insert(table), [visit(0), visit(1)])
        project.opened.keyring.lifecycle.rotate(Purpose.DATA)
        connection.execute(insert(table), [visit(2)])
        connection.execute(update(raw).where(raw.c.person == 1).values(spending=b"\x01" + bytes(40)))
        page = connection.execute(select(raw).order_by(raw.c.person)).mappings().all()
    changes, unreadable = renew(fields, page)
    assert [(change.row["person"], set(change.renewed)) for change in changes] == [
        (0, {"national_id", "diagnosis", "spending"})
    ]
    assert [row["person"] for row in unreadable] == [1]
    assert "asthma" not in repr(changes)


def test_null_is_never_stale_and_what_is_not_sealed_or_of_an_older_generation_always_is() -> None:
    current = b"\x01\x02abcd"
    assert not is_stale(current, None)
    assert is_stale(current, b"plain")
    assert is_stale(current, b"\x01\x02abce" + bytes(28))
    assert is_stale(current, b"\x01\x01abcd" + bytes(28))
    assert not is_stale(current, b"\x01\x02abcd" + bytes(28))
    assert not is_stale(current, b"\x01\x03abcd" + bytes(28))
