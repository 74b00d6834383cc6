from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, Table, func, select
from sqlalchemy.exc import IntegrityError

from tests.vault.projects import make_project, visit
from vault.errors import InvalidValueError
from vault.files.load import ROWS_A_STATEMENT, load


def count(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def test_all_rows_are_stored_over_several_statements(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    table = project.table("visit")
    rows = (visit(person) for person in range(ROWS_A_STATEMENT + 5))
    assert load(project.engine, table, rows) == ROWS_A_STATEMENT + 5
    assert count(project.engine, table) == ROWS_A_STATEMENT + 5


def test_a_source_that_fails_late_leaves_nothing(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)

    def rows() -> Iterator[dict[str, object]]:
        yield from (visit(person) for person in range(ROWS_A_STATEMENT + 1))
        raise InvalidValueError("a late fault")

    with pytest.raises(InvalidValueError):
        load(project.engine, project.table("visit"), rows())
    assert count(project.engine, project.table("visit")) == 0


def test_a_duplicate_key_leaves_nothing(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    rows = [visit(person) for person in range(ROWS_A_STATEMENT)] + [visit(0)]
    with pytest.raises((IntegrityError, Exception)) as refused:
        load(project.engine, project.table("visit"), rows)
    assert "99-0" not in str(refused.value)
    assert count(project.engine, project.table("visit")) == 0


def test_k02_09_a_lone_surrogate_names_its_row_and_field_before_anything_is_written(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    rows = [visit(person) for person in range(100)]
    rows[57]["diagnosis"] = "\ud83d"
    with pytest.raises(InvalidValueError) as refused:
        load(project.engine, project.table("visit"), rows)
    assert "diagnosis" in str(refused.value)
    assert "57" in str(refused.value)
    assert count(project.engine, project.table("visit")) == 0
