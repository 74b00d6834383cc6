"""Table rules: what the columns, keys, bindings and indexes of a policy's tables must not contradict."""

from collections import Counter
from collections.abc import Iterator, Mapping

from vault.policy.index_rules import compound_faults, index_faults, scope_faults
from vault.policy.table import ColumnPolicy, TablePolicy

_CONTEXT_TYPES = ("int", "str", "bytes", "uuid")
# SQLite keeps a number as binary64, and no database keeps a time's own offset; a sealed value is kept as it is.
_SEALED_TYPES = ("decimal", "datetime")


def table_faults(tables: Mapping[str, TablePolicy]) -> list[str]:
    """All contradictions in the tables, one "dotted.key: what is wrong" each."""
    faults = _same_but_for_case("table", tables)
    for name, table in tables.items():
        place = f"table.{name}"
        faults += _same_but_for_case(f"{place}.column", table.column)
        faults += _key_faults(f"{place}.key", table)
        for column_name, column in table.column.items():
            faults += [f"{place}.column.{column_name}{fault}" for fault in _column_faults(column_name, column, table)]
        faults += [f"{place}.index.{fault}" for fault in compound_faults(table)]
    return faults + scope_faults(tables)


def _same_but_for_case(place: str, names: Mapping[str, object]) -> list[str]:
    twice = [name for name, count in Counter(map(str.lower, names)).items() if count > 1]
    return [
        f"{place}: {name} stands more than once, apart only by case, which SQL may not tell apart" for name in twice
    ]


def _key_faults(place: str, table: TablePolicy) -> Iterator[str]:
    if len(set(table.key)) != len(table.key):
        yield f"{place}: a column stands twice"
    for name in dict.fromkeys(table.key):
        column = table.column.get(name)
        if column is None:
            yield f"{place}: there is no column {name}; declare it, or name one of: {', '.join(table.column)}"
        elif column.sealed:
            yield f"{place}: {name} is sealed; a primary key is plain, since rows are found and bound by it"
        elif column.type not in _CONTEXT_TYPES:
            yield f"{place}: {name} is a {column.type}; a primary key is int, str, bytes or uuid"


def _column_faults(name: str, column: ColumnPolicy, table: TablePolicy) -> Iterator[str]:
    if name in table.key and column.nullable:
        yield ".nullable: a key column is never NULL; leave this out"
    if column.type in _SEALED_TYPES and not column.sealed:
        yield f".type: not every database keeps a plain {column.type} as it is; add sealed = true, or use str"
    if column.migrating is not None and not column.sealed:
        yield ".migrating: only a sealed column has its plaintext in another; add sealed = true, or leave this out"
    if column.migrating in table.column:
        yield f".migrating: {column.migrating} is declared here too; leave that out, the sealed column stands for both"
    if column.bind and not column.sealed:
        yield ".bind: only a sealed column is bound to its row; add sealed = true, or leave this out"
    if len(set(column.bind)) != len(column.bind):
        yield ".bind: a column stands twice"
    for bound in dict.fromkeys(column.bind):
        yield from (f".bind: {fault}" for fault in _bind_faults(bound, table))
    yield from index_faults(name, column, table)


def _bind_faults(name: str, table: TablePolicy) -> Iterator[str]:
    column = table.column.get(name)
    if column is None:
        yield f"there is no column {name}; name one of: {', '.join(table.column)}"
        return
    if column.sealed:
        yield f"{name} is sealed; a field is bound to plain columns"
    if column.type not in _CONTEXT_TYPES:
        yield f"{name} is a {column.type}; a field is bound to int, str, bytes or uuid columns"
    if table.nullable(name):
        yield f"{name} may be NULL; a field is bound to key columns, or to columns with nullable = false"
