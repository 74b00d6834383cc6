"""Mapping: sealed fields as SQLAlchemy columns."""

from vault.mapping.compound_index import CompoundIndex
from vault.mapping.compound_term_type import equal_together
from vault.mapping.definitions import definition_of, sealed_columns, term_columns
from vault.mapping.finding import Found, find, find_all
from vault.mapping.lookup import via
from vault.mapping.sealed_type import Sealed
from vault.mapping.stored_types import AnyInteger, Coded

__all__ = [
    "AnyInteger",
    "Coded",
    "CompoundIndex",
    "Found",
    "Sealed",
    "definition_of",
    "equal_together",
    "find",
    "find_all",
    "sealed_columns",
    "term_columns",
    "via",
]
