"""The names, places and texts of the triggers that refuse keys."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine
from sqlalchemy.dialects import mysql, postgresql, sqlite

from tests.vault.projects import write_policy
from vault.policy import Policy
from vault.retirement.key_refusal import KeyRefusal, refusals_of
from vault.schema import tables

DIALECTS = (postgresql.dialect(), mysql.dialect(), sqlite.dialect())
NAMES = st.text(st.characters(codec="ascii", categories=["L", "Nd"], include_characters="_'\" %"), min_size=1)


def test_every_sealed_and_every_term_column_has_one(tmp_path: Path) -> None:
    table = tables(Policy.load(write_policy(tmp_path))).tables["visit"]
    assert [(one.column, one.at) for one in refusals_of(table)] == [
        ("national_id", 3),
        ("diagnosis", 3),
        ("spending", 3),
        ("national_id_bidx_a", 2),
        ("national_id_bidx_b", 2),
    ]


@given(schema=st.none() | NAMES, table=NAMES, column=NAMES)
def test_its_names_fit_each_database_and_are_no_others(schema: str | None, table: str, column: str) -> None:
    refusal = KeyRefusal(schema, table, column, 3)
    assert len(set(refusal.names)) == 2
    assert all(len(name) <= 63 and name.isidentifier() for name in refusal.names)
    other = KeyRefusal(schema, table, column + "x", 3)
    assert not set(refusal.names) & set(other.names)
    assert len(refusal.said.replace("''", "'")) <= 128


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: str(dialect.name))
def test_the_statements_are_the_same_whatever_the_order_of_the_keys(dialect: object) -> None:
    refusal, keys = KeyRefusal("ward", "visit", "order", 3), [b"\x02" * 4, b"\x01" * 4]
    assert refusal.make(dialect, keys, "ward.visit") == refusal.make(dialect, reversed(keys), "ward.visit")  # type: ignore[arg-type]


def test_a_quote_in_a_name_is_one_in_the_database_too() -> None:
    engine = create_engine("sqlite://")
    refusal = KeyRefusal(None, "o'hara", 'the "one"', 3)
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE "o\'hara" ("the ""one""" BLOB)')
        for statement in refusal.make(engine.dialect, [b"\x01" * 4], "o'hara"):
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql("INSERT INTO \"o'hara\" VALUES (x'0100020202020000')")
    engine.dispose()
