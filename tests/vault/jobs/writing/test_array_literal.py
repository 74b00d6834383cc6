"""What PostgreSQL reads of a literal is what was written."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine

from tests.sizes import sized
from vault.jobs.writing.array_literal import array_literal

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def test_bytes_and_integers_are_written_at_once() -> None:
    assert array_literal([b"\x00\xff", b""], str) == '{"\\\\x00ff","\\\\x"}'
    assert array_literal([1, -2], str) == "{1,-2}"


def test_null_and_the_word_null_are_two_things() -> None:
    assert array_literal([None, "NULL", b"\x01", True], str) == '{NULL,"NULL","\\\\x01","True"}'


def test_other_types_are_written_by_the_caller() -> None:
    assert array_literal([date(2020, 1, 2), Decimal("1.00")], str) == '{"2020-01-02","1.00"}'


def test_an_empty_column_is_an_empty_array() -> None:
    assert array_literal([], str) == "{}"


@pytest.mark.postgres
@settings(max_examples=sized(20, 50), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.none() | texts),
    st.lists(st.none() | st.binary()),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
)
def test_postgresql_reads_what_was_written(
    postgres_server_url: str, words: list[str | None], stored: list[bytes | None], numbers: list[int | None]
) -> None:
    engine = create_engine(postgres_server_url)
    with engine.connect() as connection:
        for kind, values in {"text": words, "bytea": stored, "bigint": numbers}.items():
            read = connection.exec_driver_sql(f"SELECT %s::{kind}[]", (array_literal(values, str),)).scalar_one()
            assert read == values
    engine.dispose()
