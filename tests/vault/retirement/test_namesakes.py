"""A table of the same name in another schema is told where one is, and what lies there keeps its key."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import MetaData, create_engine, text

from kms import Purpose
from tests.kms.rested import let_rest
from tests.vault.cli.maintained import context_of
from tests.vault.cli.test_due_endings import end, state
from tests.vault.cli.test_due_reencryption import reencrypt
from tests.vault.projects import make_project, visit, write_policy
from vault.cli.still_needed import StillNeeded
from vault.errors import KeyInUseError
from vault.maintenance.step import Outcome
from vault.policy import Policy
from vault.project import Project
from vault.retirement.namesakes import namesake_uses, namesakes
from vault.schema import tables


def test_nothing_is_told_where_there_is_none(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    assert namesakes(project.engine, list(project.tables.values())) == []
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
    assert [str(one) for one in namesakes(engine, [table])] == ["ward.visit"]
    both = [table, table.to_metadata(MetaData(), schema="ward")]
    assert namesakes(engine, both) == [], "each is counted as itself"
    engine.dispose()


@pytest.mark.postgres
def test_a_table_that_the_search_path_finds_in_a_later_schema_is_itself(tmp_path: Path, postgres_url: str) -> None:
    """As where a schema has the name of the role, and the tables are in public."""
    table = tables(Policy.load(write_policy(tmp_path, postgres_url))).tables["visit"]
    engine = create_engine(postgres_url, connect_args={"options": "-csearch_path=first,public"})
    with engine.begin() as connection:
        for statement in (
            "CREATE SCHEMA first",
            "CREATE SCHEMA ward",
            "CREATE TABLE public.visit (diagnosis bytea)",
            "CREATE TABLE ward.visit (diagnosis bytea)",
        ):
            connection.execute(text(statement))
    assert [str(one) for one in namesakes(engine, [table])] == ["ward.visit"]
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE first.visit (diagnosis bytea)"))
    assert [str(one) for one in namesakes(engine, [table])] == ["public.visit", "ward.visit"], "hidden by the first"
    engine.dispose()


@pytest.fixture(
    params=[pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("mariadb", marks=pytest.mark.mariadb)]
)
def translated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Services write to visit of schema ward, by a map of an engine that is connected to another one."""
    project = make_project(tmp_path, request.getfixturevalue(f"{request.param}_url"))
    with project.engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA ward"))
    ward = project.engine.execution_options(schema_translate_map={None: "ward"})
    project.table("visit").create(ward)
    with ward.begin() as connection:
        connection.execute(project.table("visit").insert(), [visit(1), visit(2)])
    project.opened.keyring.lifecycle.rotate(Purpose.DATA)
    let_rest(project.opened.key_store.engine)
    try:
        yield project
    finally:
        if request.param == "mariadb":  # it lies beside the test's own database
            with project.engine.begin() as connection:
                connection.execute(text("DROP SCHEMA ward"))
        project.close()


def test_what_lies_in_another_schema_keeps_its_key(translated: Project) -> None:
    (old, new) = translated.opened.keyring.records(Purpose.DATA)
    needed = StillNeeded(translated)
    with pytest.raises(KeyInUseError, match=r"is needed by 2 values of ward.visit.national_id, .* to that schema"):
        needed.refuse_namesakes(old)
    needed.refuse_namesakes(new, [])
    context = context_of(translated, retire=True)
    reencrypt(context)
    ((outcome, told),) = end(context)
    assert (outcome, state(translated)) == (Outcome.FAILED, old.state), "nobody is there to be told"
    assert "ward.visit.diagnosis" in told


@pytest.mark.parametrize("translated", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_what_this_role_may_not_read_has_to_be_looked_at(translated: Project) -> None:
    old = translated.opened.keyring.records(Purpose.DATA)[0]
    with translated.engine.begin() as connection:
        connection.execute(text("CREATE ROLE clerk_of_ward"))
    clerk = create_engine(translated.engine.url, connect_args={"options": "-crole=clerk_of_ward"})
    try:
        found = namesakes(clerk, list(translated.tables.values()))
        assert namesake_uses(clerk, found, old.key_id) == ([], found)
        as_clerk = StillNeeded(Project(translated.policy, clerk, translated.tables, translated.opened))
        as_clerk.refuse_namesakes(old)
        with pytest.raises(KeyInUseError, match=r"may not read ward.visit, .* add --looked-at ward.visit"):
            as_clerk.refuse_namesakes(old, [])
        as_clerk.refuse_namesakes(old, ["ward.visit"])
        with translated.engine.begin() as connection:
            for statement in (
                "GRANT USAGE ON SCHEMA ward TO clerk_of_ward",
                "GRANT SELECT ON ward.visit TO clerk_of_ward",
                "ALTER TABLE ward.visit ENABLE ROW LEVEL SECURITY",
            ):
                connection.execute(text(statement))
        assert namesake_uses(clerk, found, old.key_id) == ([], found), "what is hidden was not counted"
    finally:
        clerk.dispose()
        with translated.engine.begin() as connection:
            connection.execute(text("DROP OWNED BY clerk_of_ward"))
            connection.execute(text("DROP ROLE clerk_of_ward"))
