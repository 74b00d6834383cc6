"""Sealed columns through SQLAlchemy: against other libraries' types, in bulk on PostgreSQL, statement by statement."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.benchmarks import column_type, sealed_rows, single_statements
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault

__all__ = ["comparisons"]


def comparisons() -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vault = fresh_vault(folder)
        yield from column_type.comparisons(vault, folder)
        yield from single_statements.comparisons(vault)
        yield from sealed_rows.comparisons(vault)
