"""Mapping: sealed fields as SQLAlchemy columns."""

from vault.mapping.definitions import definition_of, sealed_columns, term_columns
from vault.mapping.sealed_type import Sealed
from vault.mapping.stored_types import AnyInteger, Coded

__all__ = ["AnyInteger", "Coded", "Sealed", "definition_of", "sealed_columns", "term_columns"]
