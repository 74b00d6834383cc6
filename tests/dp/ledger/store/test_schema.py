"""The tables: portable, and without plaintext columns."""

import pytest
from sqlalchemy import Float, Numeric
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateTable

from dp.ledger.store.schema import charge, metadata


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect(), mysql.dialect()], ids=lambda d: d.name)
def test_every_table_can_be_written_for_every_server(dialect: object) -> None:
    for table in metadata.sorted_tables:
        assert table.name in str(CreateTable(table).compile(dialect=dialect))  # type: ignore[arg-type]


def test_no_column_is_a_float() -> None:
    assert not [c for table in metadata.sorted_tables for c in table.c if isinstance(c.type, Float | Numeric)]


def test_the_keys_fit_into_mariadbs_longest_index() -> None:
    """3072 bytes, at four bytes a character."""
    (attempt,) = [c for c in charge.constraints if c.name == "noisevault_charge_attempt"]
    lengths = [getattr(column.type, "length", None) or 2 for column in attempt.columns]  # type: ignore[attr-defined]
    assert 4 * sum(lengths) <= 3072
