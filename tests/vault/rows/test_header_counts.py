"""Headers are counted by column, key and generation in one statement, on each database, whatever stands there."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text, update

from kms import Purpose
from tests.vault.projects import make_project, visit
from vault.project import Project
from vault.rows.header_counts import ColumnCounts, Made, header_counts
from vault.rows.raw_table import raw_table


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Project:
    project = make_project(tmp_path, database_url)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(7)])
        connection.execute(insert(project.table("visit")), [visit(9, diagnosis=None, national_id=None)])
    return project


def column(project: Project, name: str) -> ColumnCounts:
    counts = header_counts(project.engine, project.table("visit"))
    assert counts.rows == 8
    return next(one for one in counts.columns if one.name == name)


def alter(project: Project, person: int, **values: bytes) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person == person).values(values))


def active(project: Project, purpose: Purpose) -> bytes:
    return project.opened.keyring.sealing(purpose).key.key_id


def test_values_and_terms_are_counted_by_key_and_generation(project: Project) -> None:
    data, index = active(project, Purpose.DATA), active(project, Purpose.INDEX)
    counts = header_counts(project.engine, project.table("visit"))
    assert [(one.name, one.holds, one.made, one.null, one.foreign) for one in counts.columns] == [
        ("national_id", "values", {Made(data, 0): 7}, 1, 0),
        ("diagnosis", "values", {Made(data, 0): 7}, 1, 0),
        ("spending", "values", {Made(data, 0): 8}, 0, 0),
        ("national_id_bidx_a", "terms", {Made(index, 0): 7}, 1, 0),
        ("national_id_bidx_b", "terms", {}, 8, 0),
    ]
    assert counts.naming == {data: 8, index: 7}


def test_rows_that_name_a_key_are_counted_once_each(project: Project) -> None:
    old, new = active(project, Purpose.DATA), project.opened.keyring.lifecycle.rotate(Purpose.DATA).key_id
    with project.engine.begin() as connection:
        table = project.table("visit")
        connection.execute(update(table).where(table.c.person == 3, table.c.year == 1).values(diagnosis="gout"))
    counts = header_counts(project.engine, project.table("visit"), ["values"])
    assert counts.naming == {old: 8, new: 1}
    assert counts.columns[1].by_key() == {old: 6, new: 1}
    assert [one.holds for one in counts.columns] == ["values"] * 3


def test_what_is_no_sealed_value_is_told_apart(project: Project) -> None:
    key = active(project, Purpose.DATA)
    alter(project, 1, diagnosis=b"\x01\x07" + key + bytes(28))
    alter(project, 2, diagnosis=b"\x01\x07" + key + bytes(27))
    alter(project, 3, diagnosis=b"")
    alter(project, 4, diagnosis=b"\x01\x00" + bytes(40))
    alter(project, 5, diagnosis=b"\x02\x00" + key + bytes(40))
    alter(project, 6, diagnosis=b"\x01\x00abcd" + key * 9)
    counted = column(project, "diagnosis")
    assert counted.made == {Made(key, 0): 1, Made(key, 7): 1, Made(b"abcd", 0): 1}
    assert (counted.foreign, counted.null, counted.other_format) == (3, 1, {key: 1})
    assert counted.by_key() == {key: 3, b"abcd": 1}, "what may be of a later version counts as a use of its key"


def test_what_is_no_term_is_told_apart(project: Project) -> None:
    key = active(project, Purpose.INDEX)
    alter(project, 1, national_id_bidx_a=b"\x03" + key + b"t")
    # A term column of MariaDB is as long as its terms, and fills up with zeros what is shorter.
    alter(project, 2, national_id_bidx_a=b"\x03" + (bytes(4) if project.engine.name == "mysql" else key))
    alter(project, 3, national_id_bidx_b=b"\x00" + bytes(36))
    counted = column(project, "national_id_bidx_a")
    assert (counted.made, counted.foreign) == ({Made(key, 0): 5, Made(key, 3): 1}, 1)
    assert column(project, "national_id_bidx_b").foreign == 1


def test_each_table_is_read_by_one_statement_and_nothing_is_fetched_but_the_groups(project: Project) -> None:
    statements: list[str] = []

    def note(_conn: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(project.engine, "before_cursor_execute", note)
    counts = header_counts(project.engine, project.table("visit"))
    assert len([one for one in statements if "visit" in one]) == 1
    assert sum(column.made.total() + column.null for column in counts.columns) == 5 * 8


def test_text_in_a_column_of_sqlite_is_foreign_even_if_it_is_no_utf_8(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(1), visit(2)])
        long = "plain text of more than thirty-four letters"
        connection.execute(text(f"UPDATE visit SET diagnosis = '{long}' WHERE person = 1"))
        connection.execute(text(f"UPDATE visit SET diagnosis = CAST(x'{'ff' * 40}' AS TEXT) WHERE person = 2"))
    counted = header_counts(project.engine, project.table("visit")).columns[1]
    assert (counted.foreign, counted.made) == (2, Counter())


def test_an_empty_table_has_no_rows(project: Project) -> None:
    with project.engine.begin() as connection:
        connection.execute(raw_table(project.table("visit")).delete())
    counts = header_counts(project.engine, project.table("visit"))
    assert (counts.rows, counts.naming) == (0, Counter())
