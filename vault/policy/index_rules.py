"""Index rules: what the indexes of a policy's columns and tables must not contradict."""

from collections.abc import Iterator, Mapping

from vault.policy.name import POSTGRESQL_IDENTIFIER_BYTES
from vault.policy.table import ColumnPolicy, CompoundPolicy, IndexPolicy, TablePolicy

_OF_DAYS = ("year", "month")
_DAYS = ("date", "datetime")


def index_faults(name: str, column: ColumnPolicy, table: TablePolicy) -> Iterator[str]:
    """What is wrong with the indexes of one column, its key left out: ".index: ..."."""
    if column.indexes and not column.sealed:
        yield ".index: only a sealed column has a blind index; add sealed = true, or leave this out"
    names = [index.name for index in column.indexes]
    if len(set(names)) < len(names):
        yield '.index: two indexes have one name; give the second one of its own, such as name = "rough"'
    for index in column.indexes:
        yield from _normaliser_faults(index, column)
        if index.keyring is not None and index.scope is not None:
            yield ".index.keyring: an index that columns share lives in their own keyring; leave scope or this out"
        if column.type == "bool" and not index.low_entropy:
            yield (
                ".index: a bool has two values, and an index would show which rows have which; leave this out, or"
                " insist by low_entropy = true"
            )
        for term in (f"{name}_{index.name}_a", f"{name}_{index.name}_b"):
            if len(term) > POSTGRESQL_IDENTIFIER_BYTES:
                yield f".index.name: its terms are kept in {term}, a longer name than databases take; shorten it"
            if _taken(term, table):
                yield f".index: its terms are kept in {term}, so that no column may be called so; rename that column"


def _normaliser_faults(index: IndexPolicy, column: ColumnPolicy) -> Iterator[str]:
    fault = _foreign(index.normalise, column)
    if fault:
        yield f".index.normalise: {fault}"
    if index.normalise != "phone" and (index.region or index.metadata):
        yield '.index.region: region and metadata are for normalise = "phone"; leave them out'


def _foreign(normalise: str, column: ColumnPolicy) -> str:
    """What is wrong with a normaliser for a column; nothing if it is for its type."""
    if normalise == "exact" or (column.type in _DAYS if normalise in _OF_DAYS else column.type == "str"):
        return ""
    kinds = "date and datetime" if normalise in _OF_DAYS else "str"
    return f'{normalise} is for {kinds}, and this is {column.type}; use "exact"'


def _taken(term: str, table: TablePolicy) -> bool:
    return term.lower() in map(str.lower, table.column)


def compound_faults(table: TablePolicy) -> Iterator[str]:
    """What is wrong with a table's indexes over several columns: "NAME.columns: ..."."""
    for name, index in table.index.items():
        yield from (f"{name}{fault}" for fault in _compound_faults(name, index, table))


def _compound_faults(name: str, index: CompoundPolicy, table: TablePolicy) -> Iterator[str]:
    if len(set(index.columns)) < len(index.columns):
        yield ".columns: a column stands twice"
    for column in dict.fromkeys(index.columns):
        declared = table.column.get(column)
        if declared is None:
            yield f".columns: there is no column {column}; name sealed ones of: {', '.join(table.column)}"
        elif not declared.sealed:
            yield f".columns: {column} is plain; an index over several columns is over sealed ones"
        else:
            fault = _foreign(index.normalise.get(column, "exact"), declared)
            if fault:
                yield f".normalise.{column}: {fault}"
    for column in index.normalise.keys() - set(index.columns):
        yield f".normalise.{column}: is none of the columns; leave it out"
    for column, normalise in index.normalise.items():
        if normalise == "phone":
            yield f".normalise.{column}: phone needs a region, which only a column's own index has; use digits"
    for term in (f"{name}_a", f"{name}_b"):
        if _taken(term, table):
            yield f": its terms are kept in {term}, so that no column may be called so; rename that column"


def scope_faults(tables: Mapping[str, TablePolicy]) -> list[str]:
    """Columns that share an index make their terms alike, or no two would be equal."""
    faults: list[str] = []
    first: dict[str, tuple[str, object]] = {}
    for table_name, table in tables.items():
        for column_name, column in table.column.items():
            for index in column.indexes:
                if index.scope is None:
                    continue
                rule = (column.type, index.normalise, index.region, index.metadata, index.bits, index.slow)
                place, known = first.setdefault(index.scope, (f"table.{table_name}.column.{column_name}", rule))
                if rule != known:
                    faults.append(
                        f"table.{table_name}.column.{column_name}.index.scope: shares {index.scope} with {place}, and"
                        " has another type, normalise, bits or slow; give both the same"
                    )
    return faults
