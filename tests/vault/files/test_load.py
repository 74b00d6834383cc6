from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, Table, func, select

from kms import Purpose
from tests.vault.projects import make_project, visit
from vault.errors import ImportRefusedError
from vault.files.load import ROWS_A_STATEMENT, load
from vault.retirement.refused_keys import refuse_keys


def count(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def test_all_rows_are_stored_over_several_statements(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    table = project.table("visit")
    rows = ((person + 2, visit(person)) for person in range(ROWS_A_STATEMENT + 5))
    assert load(project.engine, table, rows) == ROWS_A_STATEMENT + 5
    assert count(project.engine, table) == ROWS_A_STATEMENT + 5


def test_a_source_that_fails_late_leaves_nothing(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)

    def rows() -> Iterator[tuple[int, dict[str, object]]]:
        yield from ((person, visit(person)) for person in range(ROWS_A_STATEMENT + 1))
        raise ImportRefusedError("a late fault")

    with pytest.raises(ImportRefusedError, match="a late fault"):
        load(project.engine, project.table("visit"), rows())
    assert count(project.engine, project.table("visit")) == 0


def test_a_duplicate_key_leaves_nothing(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    rows = [(person + 2, visit(person)) for person in range(ROWS_A_STATEMENT)] + [(1002, visit(0))]
    with pytest.raises(ImportRefusedError, match=r"^line 1002: .*visit") as refused:
        load(project.engine, project.table("visit"), rows)
    assert refused.value.__context__ is None
    assert count(project.engine, project.table("visit")) == 0


def test_what_a_trigger_refuses_is_told_as_that(tmp_path: Path, database_url: str) -> None:
    """As where the key store was put back, or the command slept past its lease."""
    project = make_project(tmp_path, database_url)
    table, active = project.table("visit"), project.opened.keyring.sealing(Purpose.DATA).key.key_id
    refuse_keys(project.engine, table, [active])
    with pytest.raises(ImportRefusedError, match=r"^lines 2 to 3: a trigger of table visit refuses the key") as refused:
        load(project.engine, table, [(person + 2, visit(person)) for person in range(2)])
    assert refused.value.__context__ is None
    assert count(project.engine, table) == 0
    project.close()


def test_k02_09_a_lone_surrogate_names_its_row_and_field_before_anything_is_written(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    rows = [(person + 2, visit(person)) for person in range(100)]
    rows[57][1]["diagnosis"] = "\ud83d"
    with pytest.raises(ImportRefusedError) as refused:
        load(project.engine, project.table("visit"), rows)
    assert "diagnosis" in str(refused.value)
    assert "line 59" in str(refused.value)
    assert count(project.engine, project.table("visit")) == 0
