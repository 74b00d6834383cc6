"""Header counts: by what keys and generations the stored values and terms of a table are made, counted by the database.

sealed value   | format, 1 | generation, 1 | key id, 4 | ...        term   | generation, 1 | key id, 4 | ...

One statement, one scan: the rows are grouped by the headers of all columns at once. Nothing is opened, and nothing is
fetched but the groups.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    Table,
    case,
    func,
    literal,
    null,
    select,
)

from vault.mapping.definitions import all_term_columns, sealed_columns
from vault.rows.raw_table import raw_table
from vault.rows.scan import any_text
from vault.sealed.envelope import FORMAT, HEADER_BYTES, OVERHEAD_BYTES
from vault.terms.term import TERM_PREFIX_BYTES

__all__ = ["ColumnCounts", "Holds", "Made", "TableCounts", "header_counts"]

Holds = Literal["values", "terms"]
BOTH: Final[tuple[Holds, Holds]] = ("values", "terms")
KEY_ID_BYTES: Final = 4
# By what a column holds: how long its header is, and the fewest bytes of one that is whole.
SIZES: Final[dict[Holds, tuple[int, int]]] = {
    "values": (HEADER_BYTES, OVERHEAD_BYTES),
    "terms": (TERM_PREFIX_BYTES, TERM_PREFIX_BYTES + 1),
}


@dataclass(frozen=True, slots=True, order=True)
class Made:
    """The key that a stored value or term names, and the generation of the definition that it was made by."""

    key_id: bytes
    generation: int


@dataclass(slots=True)
class ColumnCounts:
    """Of one column, in rows. foreign: neither NULL nor what the column should hold, such as text.

    other_format: as made by a later version, or by nobody: it names a key, and this version does not open it.
    """

    name: str
    holds: Holds
    made: Counter[Made] = field(default_factory=Counter)
    null: int = 0
    foreign: int = 0
    other_format: Counter[bytes] = field(default_factory=Counter)

    def by_key(self) -> Counter[bytes]:
        """How many name each key."""
        found = Counter(self.other_format)
        for made, number in self.made.items():
            found[made.key_id] += number
        return found


@dataclass(slots=True)
class TableCounts:
    """rows: of the table. naming: by key id, rows of which at least one of these columns names it."""

    table: str
    rows: int
    columns: list[ColumnCounts]
    naming: Counter[bytes]


def header_counts(engine: Engine, table: Table, holds: Sequence[Holds] = BOTH) -> TableCounts:
    """Of a mapped table: of its sealed columns, its term columns, or both, in one snapshot."""
    raw = raw_table(table)
    columns = [ColumnCounts(column.name, "values") for column in sealed_columns(table) if "values" in holds]
    columns += [ColumnCounts(column.name, "terms") for column in all_term_columns(table) if "terms" in holds]
    counts = TableCounts(table.fullname, 0, columns, Counter())
    heads = [_head(raw.c[one.name], *SIZES[one.holds]).label(f"head_{at}") for at, one in enumerate(columns)]
    inner = select(*heads).select_from(raw).subquery() if heads else raw
    grouped = list(inner.c)[: len(heads)]
    statement = select(*grouped, func.count().label("rows")).select_from(inner).group_by(*grouped)
    with engine.connect() as connection, any_text(connection):
        _hint(connection)
        for *found, rows in connection.execute(statement):
            _add(counts, found, rows)
    return counts


def _head(column: "Column[Any]", header: int, whole: int) -> ColumnElement[Any]:
    """NULL for NULL, nothing for what is too short, else the header."""
    return case(
        (column.is_(None), null()),
        (func.length(column, type_=Integer()) < whole, literal(b"", LargeBinary())),
        else_=func.substr(column, 1, header, type_=LargeBinary()),
    )


def _hint(connection: Connection) -> None:
    """PostgreSQL knows nothing of headers, takes them for all different and would sort the rows: let it hash them."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL enable_sort = off")


def _add(counts: TableCounts, found: Sequence[Any], rows: int) -> None:
    counts.rows += rows
    named = set()
    for column, head in zip(counts.columns, found, strict=True):
        size, _ = SIZES[column.holds]
        if head is None:
            column.null += rows
            continue
        key_id = head[-KEY_ID_BYTES:] if isinstance(head, bytes) and len(head) == size else b""
        if not any(key_id):
            column.foreign += rows
            continue
        named.add(key_id)
        if column.holds == "values" and head[0] != FORMAT:
            column.other_format[key_id] += rows
        else:
            column.made[Made(key_id, head[-KEY_ID_BYTES - 1])] += rows
    counts.naming.update(dict.fromkeys(named, rows))
