"""Mapping: sealed fields as SQLAlchemy columns."""

from vault.mapping.definitions import definition_of, sealed_columns, term_columns
from vault.mapping.sealed_type import Sealed

__all__ = ["Sealed", "definition_of", "sealed_columns", "term_columns"]
