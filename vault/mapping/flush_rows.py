"""Flush rows: what the ORM knows of a row and its UPDATE does not say: the bound columns that are no primary key.

Before a flush updates an object, its bound values are noted under the row's primary key; the statement that
follows in the same flush finds them. Python defaults of sealed and bound columns are set on new objects here,
so that the object has them afterwards.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, ref

from sqlalchemy import Column, Connection, Table, event, inspect
from sqlalchemy.orm import Mapper, Session, object_session
from sqlalchemy.orm.attributes import flag_modified

from vault.errors import SealedColumnError
from vault.mapping.defaults import default_value
from vault.mapping.table_plan import TablePlan, plan_of

__all__ = ["known_row", "watch_mapper"]

_Note = tuple["ref[Session]", dict[str, Any]]
_notes: "WeakKeyDictionary[Connection, dict[tuple[Any, ...], _Note]]" = WeakKeyDictionary()


def watch_mapper(mapper: Mapper[Any], _class: type[Any]) -> None:
    """Listen to the flushes of a mapper that has a table with sealed columns."""
    plans = [plan for table in mapper.tables if (plan := plan_of(table)) is not None]
    if any(plan.defaults for plan in plans):
        event.listen(mapper, "before_insert", _fill_defaults)
    if any(plan.compounds for plan in plans):
        event.listen(mapper, "before_update", _complete_compounds)
    if any(plan.bound for plan in plans):
        event.listen(mapper, "before_update", _note_rows)
        event.listen(mapper, "after_update", _drop_rows)


def known_row(connection: Connection, table: Table, key: tuple[Any, ...]) -> Mapping[str, Any]:
    """The bound values of the row that a flush is updating now; empty outside of a flush."""
    note = _notes.get(connection, {}).get((table, *key))
    session = None if note is None else note[0]()
    if note is None or session is None or not session._flushing:
        return {}
    return note[1]


def _fill_defaults(mapper: Mapper[Any], _connection: Connection, target: Any) -> None:
    state = inspect(target)
    for table in mapper.tables:
        plan = plan_of(table)
        for column in () if plan is None else _mapped(mapper, plan.defaults):
            key = mapper.get_property_by_column(column).key
            if state.dict.get(key) is None:
                setattr(target, key, default_value(column))


def _complete_compounds(mapper: Mapper[Any], _connection: Connection, target: Any) -> None:
    """Of an index over several columns one part changed: the UPDATE has to hold the others too."""
    for table in mapper.tables:
        plan = plan_of(table)
        for compound in () if plan is None else plan.compounds:
            parts = _mapped(mapper, [part.column for part in compound.parts])
            attributes = [_attribute(mapper, target, column) for column in parts]
            changed = [attribute.history.has_changes() for attribute in attributes]
            if not any(changed):
                continue
            for attribute, has_changed in zip(attributes, changed, strict=True):
                if not has_changed:
                    getattr(target, attribute.key)  # read where it is not loaded
                    flag_modified(target, attribute.key)


def _note_rows(mapper: Mapper[Any], connection: Connection, target: Any) -> None:
    session = object_session(target)
    for table in mapper.tables:
        plan = plan_of(table)
        if plan is None or not plan.bound or session is None:
            continue
        bound = _mapped(mapper, plan.bound.values())
        sealed = _mapped(mapper, [one.column for one in plan.sealed.values() if one.row_columns])
        if not any(_attribute(mapper, target, column).history.has_changes() for column in sealed):
            continue
        row = {column.name: _steady(mapper, target, column, plan) for column in bound}
        _notes.setdefault(connection, {})[_note_key(mapper, target, plan)] = (ref(session), row)


def _drop_rows(mapper: Mapper[Any], connection: Connection, target: Any) -> None:
    for table in mapper.tables:
        plan = plan_of(table)
        if plan is not None and connection in _notes:
            _notes[connection].pop(_note_key(mapper, target, plan), None)


def _note_key(mapper: Mapper[Any], target: Any, plan: TablePlan) -> tuple[Any, ...]:
    return (plan.table, *(_committed(mapper, target, column) for column in plan.table.primary_key))


def _mapped(mapper: Mapper[Any], columns: "Iterable[Column[Any]]") -> "list[Column[Any]]":
    """Those of a table's columns that this mapper has: others belong to another class in the same table, or to none."""
    return [column for column in columns if column in mapper._columntoproperty]


def _attribute(mapper: Mapper[Any], target: Any, column: Any) -> Any:
    return inspect(target).attrs[mapper.get_property_by_column(column).key]


def _steady(mapper: Mapper[Any], target: Any, column: Any, plan: TablePlan) -> Any:
    """A bound column's value, which must be as it was loaded."""
    attribute = _attribute(mapper, target, column)
    if attribute.history.has_changes():
        raise SealedColumnError(
            f"{plan.table.name}.{column.name} changed, and values are bound to it: insert a new row instead"
        )
    return getattr(target, attribute.key)


def _committed(mapper: Mapper[Any], target: Any, column: Any) -> Any:
    attribute = _attribute(mapper, target, column)
    history = attribute.load_history()
    return (history.deleted or history.unchanged or history.added)[0]
