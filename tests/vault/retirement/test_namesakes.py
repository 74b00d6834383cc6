"""A table of the same name in another schema is told, where one is."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.vault.projects import make_project, write_policy
from vault.policy import Policy
from vault.retirement.namesakes import namesakes
from vault.schema import tables


def test_nothing_is_told_where_there_is_none(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    assert namesakes(project.engine, project.tables.values()) == []
    project.close()


@pytest.mark.postgres
def test_a_table_that_a_translated_schema_has_is_told(tmp_path: Path, postgres_url: str) -> None:
    table = tables(Policy.load(write_policy(tmp_path, postgres_url))).tables["visit"]
    engine = create_engine(postgres_url)
    table.create(engine)
    with engine.begin() as connection:
        for statement in ("CREATE SCHEMA ward", "CREATE TABLE ward.visit (diagnosis bytea)", "CREATE SCHEMA other"):
            connection.execute(text(statement))
        connection.execute(text("CREATE TABLE other.visit (diagnosis text)"))
    assert namesakes(engine, [table]) == ["ward.visit"]
    engine.dispose()
