"""Stored columns are of the very types that the sealing types have in each database."""

import pytest
from sqlalchemy import LargeBinary, Numeric, String, Text
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from vault.mapping import Sealed
from vault.mapping.term_type import Term
from vault.migrations.stored_columns import bits_of, longest_of, sealed_type, stored_type
from vault.terms.term import BlindIndex

DIALECTS = [sqlite.dialect(), postgresql.dialect(), mysql.dialect()]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    "declared",
    [Sealed(Text), Sealed(String(16)), Sealed(Numeric), Sealed(Text, width=4096), Term(37), Term(13)],
    ids=repr,
)
def test_a_stored_type_is_what_create_table_would_write(declared: TypeEngine[object], dialect: Dialect) -> None:
    stored = stored_type(declared)
    assert stored is not None
    assert stored.compile(dialect) == declared.compile(dialect)


def test_plain_types_are_none_of_ours() -> None:
    assert stored_type(LargeBinary()) is None


@pytest.mark.parametrize("bits", [1, 8, 64, 255, 256])
def test_the_width_of_an_index_is_read_from_mariadb_in_whole_bytes(bits: int) -> None:
    assert bits_of(mysql.BINARY(BlindIndex(bits=bits).term_bytes)) == -(-bits // 8) * 8
    assert bits_of(LargeBinary()) == 256


def test_the_longest_value_is_read_from_mariadb() -> None:
    assert longest_of(mysql.VARBINARY(98)) == 98
    assert longest_of(mysql.LONGBLOB()) is None
    assert sealed_type(16_000).compile(mysql.dialect()) == "VARBINARY(16000)"
    assert sealed_type(16_001).compile(mysql.dialect()) == "LONGBLOB"
