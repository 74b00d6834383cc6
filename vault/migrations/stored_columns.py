"""Stored columns: sealed and term columns as the databases know them, plain bytes, without the type that seals.

A migration that has nothing else in it runs without keys, and as it did when it was written.
"""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import BINARY, VARBINARY, Column, LargeBinary
from sqlalchemy.types import TypeEngine

from vault.definitions.index_definition import compound_term_columns
from vault.definitions.index_slot import SLOTS, term_column
from vault.mapping.sealed_type import Sealed, mysql_bytes
from vault.mapping.term_type import Term
from vault.terms.term import RFC_2104_SHA_256_BITS, TERM_PREFIX_BYTES

__all__ = [
    "MYSQL",
    "as_stored",
    "bits_of",
    "compound_column_pair",
    "longest_of",
    "sealed_type",
    "stored_type",
    "term_column_pair",
]

MYSQL: Final = ("mysql", "mariadb")


def sealed_type(longest_bytes: int | None) -> TypeEngine[Any]:
    """The type of a sealed column. longest_bytes: of a stored value; None where there is no limit."""
    return LargeBinary().with_variant(mysql_bytes(longest_bytes), *MYSQL)


def term_type(term_bytes: int) -> TypeEngine[Any]:
    return LargeBinary().with_variant(BINARY(term_bytes), *MYSQL)


def stored_type(declared: TypeEngine[Any]) -> TypeEngine[Any] | None:
    """What a column of a sealed type or of a term type is in the database; None for any other."""
    match declared:
        case Sealed():
            return sealed_type(declared.most_bytes)
        case Term():
            return term_type(declared.length)
    return None


def as_stored(column: "Column[Any]") -> "Column[Any]":
    """A column of the model as the database has it; what is neither sealed nor a term column stays as it is."""
    kind = stored_type(column.type)
    if kind is None:
        return column
    return Column(column.name, kind, nullable=column.nullable, comment=column.comment)


def term_column_pair(column: str, index: str, bits: int) -> "list[Column[Any]]":
    """The columns for the terms of one index, new ones each time: slots a and b."""
    return _pair((term_column(column, index, slot) for slot in SLOTS), bits)


def compound_column_pair(index: str, bits: int) -> "list[Column[Any]]":
    """As term_column_pair, of an index over several columns."""
    return _pair(compound_term_columns(index), bits)


def _pair(names: Iterable[str], bits: int) -> "list[Column[Any]]":
    kind = term_type(TERM_PREFIX_BYTES + (bits + 7) // 8)
    return [Column(name, kind, nullable=True) for name in names]


def bits_of(stored: TypeEngine[Any]) -> int:
    """The width of an index whose term column has been read from a database: MariaDB alone knows its length."""
    length = stored.length if isinstance(stored, BINARY) else None
    return RFC_2104_SHA_256_BITS if length is None else (length - TERM_PREFIX_BYTES) * 8


def longest_of(stored: TypeEngine[Any]) -> int | None:
    """The length of a sealed column that has been read from a database, where there is one."""
    return stored.length if isinstance(stored, VARBINARY) else None
