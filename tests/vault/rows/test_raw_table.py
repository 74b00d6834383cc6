from pathlib import Path

from sqlalchemy import LargeBinary, insert, select

from tests.vault.projects import make_project, visit
from vault.rows.raw_table import raw_table


def test_it_shows_stored_bytes_of_sealed_and_term_columns_and_leaves_the_others(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    table = project.table("visit")
    with project.engine.begin() as connection:
        connection.execute(insert(table), [visit(1)])
        row = connection.execute(select(raw_table(table))).mappings().one()
    assert set(row) == {column.name for column in table.columns}
    assert row["person"] == 1
    assert row["national_id"][:2] == b"\x01\x00"
    assert len(row["national_id_bidx_a"]) == 37
    assert row["national_id_bidx_b"] is None
    assert b"99-" not in row["national_id"]


def test_it_is_apart_from_the_mapped_table(tmp_path: Path) -> None:
    table = make_project(tmp_path).table("visit")
    raw = raw_table(table)
    assert raw.metadata is not table.metadata
    assert isinstance(raw.c.national_id.type, LargeBinary)
    assert [column.name for column in raw.primary_key.columns] == ["person", "year"]
