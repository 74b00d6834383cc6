import pytest
from sqlalchemy import create_engine

from vault.jobs.change import Failed
from vault.jobs.job_tables import create_job_tables
from vault.jobs.quarantine import count_rows, let_go, listed, note, shown_key


def test_an_entry_is_kept_once_and_goes_when_a_later_pass_does_not_find_it(database_url: str) -> None:
    engine = create_engine(database_url)
    create_job_tables(engine)
    two = [Failed((9, "x"), "body", "does not open"), Failed((9, "x"), "title", "names key aabbccdd")]
    with engine.begin() as connection:
        note(connection, "reencrypt", "t", "one", two)
        note(connection, "reencrypt", "t", "one", [Failed((10, "x"), "body", "does not open"), *two])
        note(connection, "verify", "t", "one", two[:1])
        note(connection, "reencrypt", "t", "one", [])
    with engine.begin() as connection:
        assert count_rows(connection, "reencrypt", "t") == 2
        entries = [(row["job"], row["row_key"], row["column_name"], row["reason"]) for row in listed(connection, "t")]
    assert ("reencrypt", '[9, "x"]', "title", "names key aabbccdd") in entries
    assert len(entries) == 4
    with engine.begin() as connection:
        note(connection, "reencrypt", "t", "two", [Failed((9, "x"), "body", "still does not open")])
        let_go(connection, "reencrypt", "t", "two")
        assert [(row["job"], row["reason"]) for row in listed(connection)] == [
            ("reencrypt", "still does not open"),
            ("verify", "does not open"),
        ]
        assert listed(connection, "other") == []


def test_many_rows_of_long_keys_and_reasons_fit(database_url: str) -> None:
    engine = create_engine(database_url)
    create_job_tables(engine)
    many = [Failed(("k" * 4000 + str(at),), "body", "r" * 2000) for at in range(250)]
    with engine.begin() as connection:
        note(connection, "reencrypt", "t", "one", many)
        note(connection, "reencrypt", "t", "two", many)
        assert count_rows(connection, "reencrypt", "t") == 250


def test_without_the_tables_nothing_is_listed() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        assert listed(connection) == []
    engine.dispose()


@pytest.mark.parametrize(("key", "shown"), [((1,), "[1]"), ((1j,), '["a key of a kind that has no text"]')])
def test_a_key_is_shown_as_far_as_it_can_be(key: tuple[object, ...], shown: str) -> None:
    assert shown_key(key) == shown
