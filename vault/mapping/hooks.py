"""Hooks: where SQLAlchemy calls the vault. They sit on its classes, so that no engine is without them.

They are installed when the first sealed column is declared.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, Index, Table, UniqueConstraint, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.orm import Mapper
from sqlalchemy.sql.dml import Insert, Update, ValuesBase
from sqlalchemy.sql.lambdas import LambdaElement
from sqlalchemy.sql.util import find_tables

from vault.errors import SealedColumnError
from vault.mapping.attached import attached_to
from vault.mapping.attribute_snapshots import snapshot_attributes
from vault.mapping.compiled_modes import forget_outdated, refuse_outdated
from vault.mapping.compound_index import CompoundIndex
from vault.mapping.flush_rows import watch_mapper
from vault.mapping.guard import touches_sealed
from vault.mapping.hide_details import hide_details
from vault.mapping.hide_parameters import hide_parameters
from vault.mapping.pinned_execution import SLOTTED
from vault.mapping.plaintext_column import refuse_mapped
from vault.mapping.reflected import note_reflected
from vault.mapping.seal_statement import seal_statement
from vault.mapping.sealed_column import Declaration
from vault.mapping.shared_parameters import refuse_shared_parameters
from vault.mapping.siblings import (
    begin_table,
    complete_table,
    keep_sealed,
    own_column,
    own_compound,
    refuse_own_index,
)
from vault.mapping.slotted_text import filled_in
from vault.mapping.statement_plan import StatementPlan
from vault.mapping.table_plan import plan_of
from vault.mapping.term_type import Term

__all__ = ["install_hooks"]

NO_VAULT: Final = "a statement uses a sealed column, this engine has no vault: call vault.attach(engine, opened) first"
LOGS_ROWS: Final = (
    "the engine logs result rows (echo='debug', or its logger at DEBUG), which would log opened values: use echo=True"
)

Rows = Sequence[Mapping[str, Any]]

_installing = threading.Lock()
# The attribute of a compiled statement that was looked at: whether it uses a sealed column.
TOUCHES: Final = "_noisevault_touches"


def install_hooks() -> None:
    """Install all hooks, once a process."""
    with _installing:
        if event.contains(Engine, "before_execute", _seal):
            return
        event.listen(Table, "before_parent_attach", begin_table)
        event.listen(Table, "after_parent_attach", complete_table)
        event.listen(Table, "column_reflect", note_reflected)
        event.listen(Column, "before_parent_attach", keep_sealed)
        event.listen(Column, "after_parent_attach", own_column)
        event.listen(UniqueConstraint, "after_parent_attach", refuse_own_index)
        event.listen(Index, "after_parent_attach", refuse_own_index)
        event.listen(CompoundIndex, "after_parent_attach", own_compound)
        event.listen(Mapper, "after_mapper_constructed", watch_mapper)
        event.listen(Mapper, "mapper_configured", refuse_mapped)
        event.listen(Mapper, "mapper_configured", snapshot_attributes)
        event.listen(Engine, "before_cursor_execute", _look, retval=True)
        event.listen(Engine, "handle_error", hide_parameters)
        event.listen(Engine, "handle_error", hide_details)
        event.listen(Engine, "before_execute", _seal, retval=True)


def _seal(
    connection: Connection, statement: Any, many: Rows, one: Mapping[str, Any], _options: Any
) -> tuple[Any, Rows, Mapping[str, Any]]:
    forget_outdated(connection)
    if isinstance(statement, LambdaElement):
        _refuse_lambda(statement)
    if not isinstance(statement, ValuesBase):
        return statement, many, one
    # A bulk write of the ORM names the entity's own table, and notes which of its tables this one is for.
    notes = statement._annotations
    plan = plan_of(notes.get("_emit_insert_table", notes.get("_emit_update_table", statement.table)))
    if plan is None:
        _refuse_indirect(statement)
        return statement, many, one
    changed, rows = seal_statement(connection, statement, many or ([one] if one else ()), plan, StatementPlan())
    return (changed, (), rows[0]) if len(rows) == 1 else (changed, rows, {})


def _look(
    connection: Connection, _cursor: DBAPICursor, sql: str, parameters: Any, context: Any, _executemany: bool
) -> tuple[str, Any]:
    compiled = context.compiled
    if compiled is None:
        return sql, parameters
    if context.isddl:
        _refuse_copy(compiled.statement)
        return sql, parameters
    touched = compiled.__dict__.get(TOUCHES)
    if touched is None:
        state = compiled.compile_state
        touched = touches_sealed(
            compiled.statement if state is None else state.statement, getattr(compiled.statement, "_with_options", ())
        )
        touched |= SLOTTED in compiled.__dict__  # as of the target of an upsert, which is all that it names
        refuse_shared_parameters(compiled.bind_names)
        for column in (*compiled.insert_prefetch, *compiled.update_prefetch):
            _refuse_asking_default(column)
        setattr(compiled, TOUCHES, touched)
    if not touched:
        return sql, parameters
    plan = getattr(context, "noisevault_plan", None)
    if plan is None and attached_to(connection.dialect) is None:
        raise SealedColumnError(NO_VAULT)
    refuse_outdated(connection, context)
    if connection._echo and compiled._result_columns and connection.engine._should_log_debug():
        raise SealedColumnError(LOGS_ROWS)
    return filled_in(sql, compiled, plan, connection.dialect), parameters


def _refuse_asking_default(column: "Column[Any]") -> None:
    """SQLAlchemy compiles the SQL of such a default apart, as it does a text that is shown, and sends it first."""
    for default in (column.default, column.onupdate):
        if default is not None and default.is_clause_element and touches_sealed(default.arg):  # type: ignore[attr-defined]
            raise SealedColumnError(
                f"the default of {column.table.name}.{column.name} asks a sealed column: ask before, and give the value"
            )


def _refuse_copy(statement: Any) -> None:
    """CREATE TABLE AS and CREATE VIEW hold a SELECT, whose values stand in the SQL text."""
    selectable = getattr(statement, "selectable", None)
    if selectable is None:
        return
    selects_sealed = any(isinstance(column.type, Declaration | Term) for column in selectable.exported_columns)
    if selects_sealed or touches_sealed(selectable):
        raise SealedColumnError(
            "CREATE TABLE AS and CREATE VIEW cannot take sealed columns: create the table, read the rows, insert them"
        )


def _refuse_lambda(statement: LambdaElement) -> None:
    resolved = statement._resolved
    if isinstance(resolved, Insert | Update) and plan_of(resolved.table) is not None:
        raise SealedColumnError(
            f"{resolved.table} has sealed columns: write by insert() or update(), not by lambda_stmt()"
        )


def _refuse_indirect(statement: ValuesBase) -> None:
    """What is not a table with sealed columns must not be a way to one."""
    for key in statement._values or ():
        if isinstance(key, Column) and plan_of(key.table) is not None:
            raise SealedColumnError(f"{key.table.name} has sealed columns: update it alone, not beside another table")
    if isinstance(statement.table, Table):
        return
    for table in find_tables(statement.table, include_aliases=False, include_joins=True):
        plan = plan_of(table)
        if plan is not None:
            raise SealedColumnError(
                f"{plan.table.name} has sealed columns: write to the table itself, not to an alias or join of it"
            )
