"""Compound writing: what one INSERT or UPDATE gives the indexes over several columns, of all parts of each row."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Dialect

from vault.definitions.index_slot import SLOTS, Slot
from vault.errors import SealedColumnError
from vault.index.compound_terms import CompoundTerms
from vault.mapping.attached import compound_for
from vault.mapping.attached_tenants import tenant_name
from vault.mapping.compound_index import CompoundColumn
from vault.mapping.row_binding import refuse_missing
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_plan import StatementPlan
from vault.mapping.statement_values import Absent, plain_value
from vault.mapping.table_plan import TablePlan

__all__ = ["CompoundWriting"]

Row = Mapping[str, Any]
RowColumns = Callable[[SealedColumn], Sequence[Row]]


class CompoundWriting:
    """values: what VALUES or SET of the statement gives, by column key; the rest is in parameter rows.

    Raises: SealedColumnError for an UPDATE that lacks a part; InvalidValueError, KmsError.
    """

    def __init__(
        self,
        dialect: Dialect,
        plan: TablePlan,
        values: Mapping[str, Any],
        of_statement: StatementPlan,
        *,
        inserting: bool,
    ) -> None:
        self._dialect = dialect
        self._of_statement = of_statement
        self._plan = plan
        self._values = values
        self._inserting = inserting

    def terms(
        self, compound: CompoundColumn, rows: "Sequence[Sequence[Any]]", of_row: Sequence[Row] = ()
    ) -> dict[str, list[bytes | None]]:
        """By column key the terms of rows of parts, in order. An INSERT leaves the unwritten slot out.

        of_row: each row's tenant, by the name of the column that the parts take it from, where they do.
        """
        handed_over = [compound.handed_over(row) for row in rows]
        if compound.tenant is None:
            made = self._made(compound_for(self._dialect, compound), handed_over)
        else:
            made = self._by_tenant(compound, compound.tenant.name, handed_over, of_row)
        if not self._inserting:
            made = {slot: made.get(slot, [None] * len(rows)) for slot in SLOTS}
        return {compound.term_column(slot).key: terms for slot, terms in made.items()}

    def _made(self, terms: CompoundTerms, rows: Sequence[list[Any]]) -> dict[Slot, list[bytes | None]]:
        """The terms of each slot that the statement's plan writes."""
        plan = self._of_statement.of_compound(terms)
        return {slot: made for slot, made in plan.terms(rows).items() if slot in plan.does.written}

    def _by_tenant(
        self, compound: CompoundColumn, tenant: str, rows: Sequence[list[Any]], of_row: Sequence[Row]
    ) -> dict[Slot, list[bytes | None]]:
        """The terms of each tenant's rows by its keyring; a row in which a part is NULL has none."""
        places: dict[Any, list[int]] = {}
        for place, (row, known) in enumerate(zip(rows, of_row, strict=True)):
            if any(part is None for part in row):
                continue
            if known.get(tenant) is None:
                refuse_missing(compound.parts[0], known, updating=not self._inserting)
            places.setdefault(known[tenant], []).append(place)
        made: dict[Slot, list[bytes | None]] = {}
        for named, its in places.items():
            terms = compound_for(self._dialect, compound, tenant_name(named))
            for slot, found in self._made(terms, [rows[place] for place in its]).items():
                column = made.setdefault(slot, [None] * len(rows))
                for place, term in zip(its, found, strict=True):
                    column[place] = term
        return made

    def of_rows(self, names: list[str], rows: Sequence[Row], of_row: RowColumns) -> dict[str, list[bytes | None]]:
        """By column key the terms of the compound indexes that have a part among names, for parameter rows.

        of_row: gives for each row the values, by name, of the columns that a sealed column is bound to or takes its
        tenant from.
        """
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
            made |= self.terms(compound, parts, () if compound.tenant is None else of_row(compound.parts[0]))
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
