"""Statements on a table that others use: asked for again, given up with how to find them, and left to an owner."""

import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError

from vault.errors import ChangeoverError, KeyInUseError
from vault.triggers.patient_ddl import (
    family_of,
    is_not_allowed,
    run_or_leave_to_owner,
    run_patiently,
    wait_for_writers,
)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(f"{database_url}?timeout=0.1" if database_url.startswith("sqlite") else database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE person (id INTEGER)"))
    yield engine
    engine.dispose()


def written(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin():
        connection.execute(text("INSERT INTO person VALUES (1)"))
        time.sleep(1.5)


def test_it_waits_for_a_writer_and_a_percent_sign_is_one(engine: Engine) -> None:
    thread = threading.Thread(target=written, args=(engine,))
    thread.start()
    time.sleep(0.5)
    before = time.monotonic()
    run_patiently(engine, ["ALTER TABLE person ADD COLUMN note VARCHAR(9) DEFAULT '5%s'"], "person", KeyInUseError)
    assert time.monotonic() - before > 0.5
    thread.join()
    assert [one["name"] for one in inspect(engine).get_columns("person")] == ["id", "note"]
    wait_for_writers(engine, None, "person", KeyInUseError)


def test_who_does_not_let_go_is_told_with_the_error_that_is_asked_for(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin():
        connection.execute(text("INSERT INTO person VALUES (1)"))
        for error in (ChangeoverError, KeyInUseError):
            with pytest.raises(
                error, match=r"some transaction has held person for 0 s: end it, .*: it is one of: |it is"
            ):
                wait_for_writers(engine, None, "person", error, patience=0)


def test_all_or_nothing_where_ddl_has_transactions_and_other_errors_are_not_waited_for(engine: Engine) -> None:
    before = time.monotonic()
    with pytest.raises(DBAPIError):
        run_patiently(
            engine, ["CREATE TABLE other (id INTEGER)", "CREATE TABLE person (id INTEGER)"], "x", KeyInUseError
        )
    assert time.monotonic() - before < 10
    assert inspect(engine).has_table("other") == (family_of(engine, KeyInUseError) == "mariadb")


@pytest.mark.mariadb
def test_the_waits_of_a_mariadb_session_are_as_they_were(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url, pool_size=1, max_overflow=0)
    asked = text("SELECT @@SESSION.lock_wait_timeout")
    with engine.connect() as connection:
        before = connection.scalar(asked)
    run_patiently(engine, ["CREATE TABLE other (id INTEGER)"], "other", KeyInUseError)
    with pytest.raises(DBAPIError):
        run_patiently(engine, ["CREATE TABLE other (id INTEGER)"], "other", KeyInUseError)
    with engine.connect() as connection:
        assert connection.scalar(asked) == before
    engine.dispose()


@pytest.mark.postgres
def test_a_role_without_the_right_is_told_from_other_failures(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE person (id INTEGER)"))
        connection.execute(text("CREATE ROLE weak"))
    weak = create_engine(postgres_url, connect_args={"options": "-c role=weak"})
    with pytest.raises(DBAPIError) as refused:
        run_patiently(weak, ["ALTER TABLE person ADD COLUMN note TEXT"], "person", KeyInUseError)
    assert is_not_allowed(refused.value)
    added = "ALTER TABLE person ADD COLUMN note TEXT"
    with pytest.raises(KeyInUseError, match="this role may not add a note: let its owner run") as told:
        run_or_leave_to_owner(weak, [added], "person", KeyInUseError, "add a note")
    assert str(told.value).endswith(f"go on by the same command\nBEGIN;\n{added};\nCOMMIT;")
    with pytest.raises(DBAPIError):
        run_or_leave_to_owner(engine, ["ALTER TABLE nobody ADD COLUMN x TEXT"], "nobody", KeyInUseError, "add")
    with pytest.raises(DBAPIError) as other:
        run_patiently(engine, ["ALTER TABLE nobody ADD COLUMN note TEXT"], "nobody", KeyInUseError)
    assert not is_not_allowed(other.value)
    weak.dispose()
    with engine.begin() as connection:
        connection.execute(text("DROP ROLE weak"))
    engine.dispose()


def test_another_database_is_told() -> None:
    engine = create_engine("sqlite://")
    engine.dialect.name = "oracle"
    with pytest.raises(ChangeoverError, match="no trigger is known for oracle"):
        family_of(engine, ChangeoverError)
    engine.dispose()
