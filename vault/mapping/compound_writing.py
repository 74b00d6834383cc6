"""Compound writing: what one INSERT or UPDATE gives the indexes over several columns, of all parts of each row."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Dialect

from vault.errors import SealedColumnError
from vault.mapping.attached import compound_for
from vault.mapping.compound_index import CompoundColumn
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_values import Absent, plain_value
from vault.mapping.table_plan import TablePlan

__all__ = ["CompoundWriting"]

Row = Mapping[str, Any]


class CompoundWriting:
    """values: what VALUES or SET of the statement gives, by column key; the rest is in parameter rows.

    Raises: SealedColumnError for an UPDATE that lacks a part; InvalidValueError, KmsError.
    """

    def __init__(self, dialect: Dialect, plan: TablePlan, values: Mapping[str, Any], *, inserting: bool) -> None:
        self._dialect = dialect
        self._plan = plan
        self._values = values
        self._inserting = inserting

    def terms(self, compound: CompoundColumn, rows: "Sequence[Sequence[Any]]") -> dict[str, list[bytes | None]]:
        """By column key the terms of rows of parts, in order. An INSERT leaves the unwritten slot out."""
        terms = compound_for(self._dialect, compound).terms([compound.handed_over(row) for row in rows])
        written = {compound.term_column("a").key: terms}
        if not self._inserting:
            written[compound.term_column("b").key] = [None] * len(terms)
        return written

    def of_rows(self, names: list[str], rows: Sequence[Row]) -> dict[str, list[bytes | None]]:
        """By column key the terms of the compound indexes that have a part among names, for parameter rows."""
        made: dict[str, list[bytes | None]] = {}
        for compound in self._plan.compounds:
            keys = [part.column.key for part in compound.parts]
            given = [key for key in keys if key in names]
            if not given:
                continue
            if self._inserting or len(given) == len(keys):
                parts = [self._parts_of(compound, row) for row in rows]
            else:
                parts = [self._parts_that_are_null(compound, given, row) for row in rows]
            made |= self.terms(compound, parts)
        return made

    def _parts_of(self, compound: CompoundColumn, row: Row) -> list[Any]:
        """The plain values of a row's parts; None for those that it does not have."""
        return [self._plain_part(part, row) for part in compound.parts]

    def _plain_part(self, part: SealedColumn, row: Row) -> Any:
        key = part.column.key
        value = plain_value(self._values[key] if key in self._values else row.get(key), row, part.label)
        return None if value is Absent else value

    def _parts_that_are_null(self, compound: CompoundColumn, given: list[str], row: Row) -> list[Any]:
        """An UPDATE of some parts has a term only without the others: where one becomes NULL, so does the term."""
        if any(self._plain_part(part, row) is None for part in compound.parts if part.column.key in given):
            return [None] * len(compound.parts)
        missing = ", ".join(part.column.name for part in compound.parts if part.column.key not in given)
        raise SealedColumnError(
            f"{compound.label} is an index over several columns: give {missing} in the same UPDATE, or change the"
            " loaded object and flush"
        )
