"""Field work: what the jobs of one migrating field have in common: its two columns, and what is read and compared."""

from typing import Any

from sqlalchemy import Column, Table

from vault.jobs.migrating.two_columns import TwoColumns
from vault.opened import OpenedVault

__all__ = ["FieldWork"]


class FieldWork:
    """Of one field of a table. A job gives `kind`, what it sets, and what a row becomes."""

    kind: str

    def __init__(self, column: "Column[Any]", opened: OpenedVault, *, proving: str = "") -> None:
        """column: the sealed one. proving: as TwoColumns.goal. Raises: as TwoColumns."""
        self.proving = proving
        self._pair = TwoColumns(column, opened)

    @property
    def name(self) -> str:
        return self._pair.job(self.kind)

    @property
    def table(self) -> Table:
        return self._pair.table

    @property
    def goal(self) -> str:
        return self._pair.goal(proving=self.proving)

    @property
    def reads(self) -> list[str]:
        return self._pair.reads

    @property
    def compares(self) -> list[str]:
        return self._pair.compared

    def refresh(self) -> None:
        """Nothing is learnt later."""
