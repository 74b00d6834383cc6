"""Sealing a statement: before it is compiled, an INSERT or UPDATE gets sealed values and terms for plain ones."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sqlalchemy import Connection, Insert
from sqlalchemy.sql.dml import ValuesBase
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.util import immutabledict

from vault.errors import SealedColumnError
from vault.mapping.compound_writing import CompoundWriting
from vault.mapping.defaults import default_value
from vault.mapping.flush_rows import known_row
from vault.mapping.pinned_execution import with_plan
from vault.mapping.row_binding import exactly_pinned, pinned_row, pins_of, refuse_missing, refuse_stored_otherwise
from vault.mapping.seal_values import sealed_values
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_plan import StatementPlan
from vault.mapping.statement_values import Absent, as_dicts, given_key, plain_value
from vault.mapping.table_plan import TablePlan
from vault.mapping.upsert import seal_upsert
from vault.mapping.write_by_mode import columns_by_mode, refuse_left_out

__all__ = ["seal_statement"]

Row = dict[str, Any]


def seal_statement(
    connection: Connection,
    statement: ValuesBase,
    rows: Sequence[Mapping[str, Any]],
    plan: TablePlan,
    of_statement: StatementPlan,
) -> tuple[ValuesBase, Sequence[Mapping[str, Any]]]:
    """The statement and the parameter rows to send instead. What is handed in stays as it is.

    of_statement: which slots it writes; where it asks too, by a condition or a conflict, it asks by the same.
    Raises: SealedColumnError, InvalidValueError, KmsError; nothing has been sent then.
    """
    writing = _Writing(connection, statement, plan, of_statement)
    writing.refuse_terms(rows)
    if isinstance(statement, Insert):
        writing.refuse_select()
    else:
        writing.refuse_moving(rows)
    if statement._multi_values:
        writing.seal_multi_values()
    else:
        rows = writing.seal_rows(rows)
    if isinstance(statement, Insert) and statement._post_values_clause is not None:
        writing.changed = seal_upsert(
            writing.changed, plan, writing.sealed_parts, writing.compounds.terms, connection.dialect
        )
    return with_plan(writing.changed, statement, of_statement), rows


def _put(columns: Mapping[str, list[bytes | None]], rows: list[Row]) -> None:
    """Add columns, by key, to rows."""
    for key, made in columns.items():
        for row, value in zip(rows, made, strict=True):
            row[key] = value


class _Writing:
    """One statement's way to its sealed form."""

    def __init__(
        self, connection: Connection, statement: ValuesBase, plan: TablePlan, of_statement: StatementPlan
    ) -> None:
        self.connection = connection
        self.of_statement = of_statement
        self.changed: Any = statement
        self.plan = plan
        self.inserting = isinstance(statement, Insert)
        self.values: dict[str, Any] = {}
        for key, value in (statement._values or {}).items():
            name = given_key(key, plan)
            if name is None and hasattr(getattr(key, "type", None), "owner"):
                raise SealedColumnError(
                    f"an UPDATE of {plan.table.name} sets a sealed column of another table: update each itself"
                )
            if name is not None:
                self.values[name] = value
        self.compounds = CompoundWriting(connection.dialect, plan, self.values, of_statement, inserting=self.inserting)

    def refuse_terms(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Terms follow from the values; set apart, they would find other rows."""
        given = {given_key(key, self.plan) for group in self.changed._multi_values for row in group for key in row}
        given |= self.values.keys() | (rows[0].keys() if rows else set())
        for name in given & self.plan.filled:
            raise SealedColumnError(f"{self.plan.table.name}.{name} is filled from its sealed column: set that column")

    def refuse_select(self) -> None:
        """INSERT FROM SELECT copies rows that are sealed as another field or row, or not at all."""
        names = set(self.changed._select_names or ()) & (self.plan.sealed.keys() | self.plan.filled)
        if names:
            raise SealedColumnError(
                f"INSERT FROM SELECT cannot fill {self.plan.table.name}.{min(names)}, which is sealed:"
                " read the rows, then insert them"
            )
        if self.changed._select_names is not None and self.changed.include_insert_from_select_defaults:
            for column in self.plan.defaults:
                if column.key in self.plan.sealed:
                    raise SealedColumnError(
                        f"INSERT FROM SELECT cannot seal the default of {self.plan.table.name}.{column.key}:"
                        " pass include_defaults=False, or read the rows, then insert them"
                    )

    def refuse_moving(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """A bound column's value is part of what was sealed."""
        given = self.values.keys() | (rows[0].keys() if rows else set())
        for key in self.plan.bound:
            if key in given:
                raise SealedColumnError(
                    f"{self.plan.table.name}.{key} cannot change, sealed values are bound to it: insert a new row"
                )

    def seal_rows(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:  # noqa: PLR0912
        """The single VALUES or SET clause with its parameter rows, of which there may be none."""
        first: Mapping[str, Any] = rows[0] if rows else {}
        filled: list[Row] = [{**row} for row in rows] or [{}]
        if self.inserting:
            self._fill(filled, self.values.keys() | first.keys())
            first = filled[0]
            refuse_left_out(self.plan, self.values.keys() | first.keys())
        names = [name for name in self.plan.sealed if name in self.values or name in first]
        if not names:
            return filled if any(filled) else rows
        pins = {} if self.inserting else pins_of(self.changed)
        in_statement: Row = {}
        unwritten: set[str] = set()
        compounds = self.compounds.of_rows(names, filled, lambda part: self._bound_rows(part, pins, filled))
        for name in names:
            sealed = self.plan.sealed[name]
            bound = self._bound_rows(sealed, pins, filled) if sealed.row_columns else None
            if name not in self.values:
                self._seal_parameters(sealed, filled, bound)
                continue
            self._refuse_reserved(name)
            plain = [plain_value(self.values[name], row, sealed.label) for row in filled]
            parts = self.sealed_parts(sealed, plain, bound)
            for row in filled:
                row.pop(name, None)  # a parameter of values() that has the column's own name
            if len(filled) == 1:
                in_statement.update(parts[0])
            else:
                for row, part in zip(filled, parts, strict=True):
                    row.update({f"sealed__{key}": value for key, value in part.items()})
                in_statement.update({key: BindParameter(f"sealed__{key}") for key in parts[0]})
            if name not in parts[0]:
                unwritten.add(name)
        if not rows and len(filled) == 1:
            in_statement.update({key: terms[0] for key, terms in compounds.items()})
        else:
            _put(compounds, filled)
        if in_statement:
            self._set(in_statement, unwritten)
        if pins:
            pinned = {column for name in names for column in self.plan.sealed[name].row_columns}
            self.changed = exactly_pinned(self.changed, list(pinned), self.connection.dialect)
        return filled if rows or any(filled) else ()

    def seal_multi_values(self) -> None:
        """VALUES with several rows."""
        rows = as_dicts(self.changed, self.plan)
        keyed: list[Row] = [
            {name: value for key, value in row.items() if (name := given_key(key, self.plan)) is not None}
            for row in rows
        ]
        for row in keyed:  # each may leave out others
            self._fill([row], row.keys())
            refuse_left_out(self.plan, row.keys())
        compounds = self.compounds.of_rows(
            list(self.plan.sealed), keyed, lambda part: self._rows_of_values(part, keyed)
        )
        for name in [name for name in self.plan.sealed if name in keyed[0]]:
            sealed = self.plan.sealed[name]
            plain = [plain_value(row[name], {}, sealed.label) if name in row else Absent for row in keyed]
            bound = None
            if sealed.row_columns:
                bound = self._rows_of_values(sealed, keyed)
            for row, part in zip(keyed, self.sealed_parts(sealed, plain, bound), strict=True):
                row.update(part)
                if name not in part:
                    row.pop(name, None)
        _put(compounds, keyed)
        self.changed = self.changed._generate()
        self.changed._multi_values = (keyed,)

    @staticmethod
    def _rows_of_values(sealed: SealedColumn, keyed: list[Row]) -> list[Row]:
        """Of VALUES with several rows: each one's values of the row columns by name."""
        return [{c.name: plain_value(row.get(c.key), {}, sealed.label) for c in sealed.row_columns} for row in keyed]

    def sealed_parts(self, sealed: SealedColumn, plain: list[Any], bound: list[Row] | None) -> list[Row]:
        """For each value: the column's sealed bytes and the terms, by column key. Absent values give nothing."""
        present = [place for place, value in enumerate(plain) if value is not Absent]
        columns = self._sealed_columns(
            sealed, [plain[place] for place in present], None if bound is None else [bound[place] for place in present]
        )
        parts: list[Row] = [{} for _ in plain]
        for key, made in columns.items():
            for place, value in zip(present, made, strict=True):
                parts[place][key] = value
        return parts

    def _seal_parameters(self, sealed: SealedColumn, rows: list[Row], bound: list[Row] | None) -> None:
        """In each parameter row that has the column: sealed bytes for its value, and the terms."""
        name = sealed.column.key
        try:
            values = [row[name] for row in rows]
        except KeyError:
            having = [place for place, row in enumerate(rows) if name in row]
            rows = [rows[place] for place in having]
            bound = None if bound is None else [bound[place] for place in having]
            values = [row[name] for row in rows]
        # By the column: an object for each row and field costs more than the cipher, and wakes the collector.
        made = self._sealed_columns(sealed, values, bound)
        _put(made, rows)
        if name not in made:
            for row in rows:
                del row[name]

    def _sealed_columns(self, sealed: SealedColumn, values: list[Any], rows: list[Row] | None) -> dict[str, list[Any]]:
        """By column key the sealed bytes, and the terms, of all values in order; of a migrating field by its mode."""
        given, values = values, sealed.to_write(values)
        for name in [] if rows is None else [column.name for column in sealed.row_columns]:
            for value, row in zip(values, rows or (), strict=True):
                if row.get(name) is None and value is not None:
                    refuse_missing(sealed, row, updating=not self.inserting)
        dialect, inserting = self.connection.dialect, self.inserting
        refuse_stored_otherwise(sealed, rows or (), dialect)
        seal = partial(sealed_values, dialect, self.of_statement, sealed, values, rows, inserting=inserting)
        return columns_by_mode(dialect, sealed, given, seal, inserting=inserting)

    def _bound_rows(self, sealed: SealedColumn, pins: Mapping[int, Any], rows: list[Row]) -> list[Row]:
        """Each row's values of the bound columns by name, perhaps among others."""
        if self.inserting and all(
            column.key == column.name and column.key not in self.values for column in sealed.row_columns
        ):
            return rows
        return [self._row(sealed, pins, row) for row in rows]

    def _row(self, sealed: SealedColumn, pins: Mapping[int, Any], row: Row) -> Row:
        if self.inserting:
            return {
                column.name: plain_value(self.values[column.key], row, sealed.label)
                if column.key in self.values
                else row.get(column.key)
                for column in sealed.row_columns
            }
        found = pinned_row(sealed.row_columns, pins, row)
        if len(found) < len(sealed.row_columns):
            primary = list(self.plan.table.primary_key)
            key = pinned_row(primary, pins, row)
            if len(key) == len(primary):
                found |= known_row(self.connection, self.plan.table, tuple(key[column.name] for column in primary))
        return found

    def _fill(self, rows: list[Row], given: Any) -> None:
        for column in self.plan.defaults:
            if column.key not in given:
                for row in rows:
                    row[column.key] = default_value(column)

    def _refuse_reserved(self, name: str) -> None:
        """SQLAlchemy takes a parameter with a column's name for that column's value, and would send it there."""
        value = self.values[name]
        if isinstance(value, BindParameter) and value.key != name and value.key in self.plan.table.c:
            raise SealedColumnError(
                f"{self.plan.table.name}.{name} is given by a parameter named as the column {value.key}:"
                f" name it otherwise, as bindparam('new_{name}')"
            )

    def _set(self, parts: Row, unwritten: AbstractSet[str]) -> None:
        """Replace and add values in the VALUES or SET clause, keeping the keys as given, but for unwritten ones."""
        changed = self.changed._generate()
        columns = self.plan.table.c
        kept = {
            key: value
            for key, value in changed._values.items()
            if given_key(key, self.plan) not in parts.keys() | unwritten
        }
        added = {
            columns[key]: value
            if isinstance(value, BindParameter)
            else BindParameter(None, value, type_=columns[key].type, unique=True)
            for key, value in parts.items()
        }
        changed._values = immutabledict({**kept, **added})
        self.changed = changed
