"""Walk: the statements by which find() reads rows page by page in key order, built once for each way to ask a table.

They hold no value: what is asked for, where a page begins and how long it is are parameters.

In SQLite and MariaDB an index holds its rows in key order. PostgreSQL's does not: asked for the first rows in that
order, a planner without good statistics walks the primary key past every row that has another term. So there the rows
are first asked for in any order; a walk begins only when they are too many to be sorted here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from sqlalchemy import BindParameter, Column, Integer, LargeBinary, Select, Table, Uuid, select

from vault.errors import SealedColumnError
from vault.key_order import after_key
from vault.mapping.asked import Asked
from vault.mapping.lookup import Lookup
from vault.mapping.table_plan import plan_of

__all__ = ["Walk", "walk_of"]

ASKED, AFTER, ROWS = "sealed__asked_{}", "sealed__after_{}", "sealed__rows"
# Ours: so many rows are sorted here, however few are wanted.
FEW_ROWS: Final = 8
SORTED_ALIKE: Final = (Integer, Uuid, LargeBinary)
NO_WALK: Final = (
    "a primary key does not come back as it is stored (a float, or a Numeric with more digits than declared), and rows"
    " cannot be read by it page by page: give a rows_a_page= for all, or key the table by integers, texts or UUIDs"
)
Values = Callable[[Sequence[Any]], tuple[Any, ...]]
Read = Callable[[Select[Any], dict[str, Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Walk:
    """names: of a table's columns, where the rows are of one. key: of a row that is read, its primary key.

    compared: for each look-up, the values of a row that it compares. sortable: PostgreSQL orders keys as Python does.
    """

    unordered: Select[Any]
    first: Select[Any]
    following: Select[Any]
    names: tuple[str, ...]
    key: Values
    compared: tuple[Values, ...]
    sortable: bool

    def pages(self, read: Read, asked: Iterable[Asked], rows: int, *, postgresql: bool) -> Iterator[Sequence[Any]]:
        """The rows that have the terms, in key order. read: what a statement with its parameters gives.

        Raises: SealedColumnError where a row comes after its own key, which would never end.
        """
        parameters: dict[str, Any] = {ASKED.format(n): value for n, value in enumerate(asked)}
        if postgresql and self.sortable:
            few = max(rows, FEW_ROWS)
            page = read(self.unordered, {**parameters, ROWS: few + 1})
            if len(page) <= few:
                yield page if len(page) < 2 else sorted(page, key=self.key)
                return
        parameters[ROWS] = rows
        page = read(self.first, parameters)
        yield page
        while len(page) == rows:
            last = self.key(page[-1])
            page = read(self.following, {**parameters, **{AFTER.format(n): value for n, value in enumerate(last)}})
            if page and self.key(page[0]) == last:
                raise SealedColumnError(NO_WALK)
            yield page


def walk_of(
    target: Any, tables: Sequence[Table], keys: "Sequence[Column[Any]]", asked: Sequence[Lookup], *, whole: bool
) -> Walk:
    """target: the mapped class or table. whole: read the rows themselves, not only their keys and what is compared."""
    held = _held_by(tables)
    name = (target, whole, *(lookup.through for lookup in asked))
    walk = held.get(name)
    if walk is None:
        walk = held[name] = _make(target, keys, asked, whole=whole)
    return walk


def _held_by(tables: Sequence[Table]) -> "dict[Any, Any]":
    """Kept with a table's plan, so that it ends with the table, or when it gets another column."""
    return next((plan.walks for table in tables if (plan := plan_of(table)) is not None), {})


def _make(target: Any, keys: "Sequence[Column[Any]]", asked: Sequence[Lookup], *, whole: bool) -> Walk:
    # Of a table the row has its key and what is compared; beside an object they are selected for themselves. What a
    # row-bound value is bound to is selected with it by its type.
    table = select(target).selected_columns if whole and isinstance(target, Table) else None
    outputs: list[Any] = [] if not whole else [target] if table is None else [*table]
    outputs += dict.fromkeys(
        column
        for column in (*keys, *(column for lookup in asked for column in lookup.columns))
        if table is None or not table.contains_column(column)
    )
    place = {output: n for n, output in enumerate(outputs)}
    unordered: Select[Any] = (
        select(*outputs)
        .select_from(target)  # also where its columns alone are read: a subclass has its joins and its discriminator
        .where(*(lookup.term(ASKED.format(n)) for n, lookup in enumerate(asked)))
        .limit(BindParameter(ROWS, type_=Integer()))
    )
    first = unordered.order_by(*keys)
    beginning = [BindParameter(AFTER.format(n), type_=key.type) for n, key in enumerate(keys)]
    return Walk(
        unordered,
        first,
        first.where(after_key(keys, beginning)),
        () if table is None else tuple(table.keys()),
        _values([place[key] for key in keys]),
        tuple(_values([place[column] for column in lookup.columns]) for lookup in asked),
        all(isinstance(key.type, SORTED_ALIKE) and key.type.python_type in (int, UUID, bytes) for key in keys),
    )


def _values(places: Sequence[int]) -> Values:
    """The values of a row at places."""
    if len(places) > 1:
        return itemgetter(*places)
    place = places[0]
    return lambda row: (row[place],)
