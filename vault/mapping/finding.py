"""Finding: rows by sealed values through any index, also one whose terms unequal values share.

The database finds rows by the term, page by page in the order of the primary key; each is opened and compared, so that
only those come which have the value. Memory holds one page.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Select, Table, inspect
from sqlalchemy.orm import Mapper, Session

from vault.errors import SealedColumnError
from vault.mapping.lookup import Matches, lookups
from vault.mapping.statement_plan import PLAN, StatementPlan
from vault.mapping.walk import Values, walk_of

__all__ = ["Found", "find", "find_all"]

T = TypeVar("T")
# Ours: a page is read and opened at once.
ROWS_A_PAGE: Final = 500


class Found(Generic[T]):
    """The rows that find_all() finds: iterate over it, as often as is wanted, each time anew; or count() them."""

    def __init__(
        self,
        source: Session | Connection,
        target: Any,
        conditions: Sequence[ColumnElement[bool]],
        by: Mapping[Any, Any],
        limit: int | None,
        offset: int,
        rows_a_page: int,
    ) -> None:
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError("limit is a number of rows from 0, or None for all")
        if type(offset) is not int or offset < 0 or type(rows_a_page) is not int or rows_a_page < 1:
            raise ValueError("offset is a number of rows from 0, rows_a_page one from 1")
        self._source = source
        self._target = target
        self._tables, self._keys = _walked(source, target)
        self._conditions = tuple(conditions)
        self._lookups = lookups(self._tables, by)
        self._limit = limit
        self._offset = offset
        self._rows_a_page = rows_a_page

    def __repr__(self) -> str:
        return f"<rows of {self._tables[0].name} found by an index>"

    def __iter__(self) -> Iterator[T]:
        end = None if self._limit is None else self._offset + self._limit
        return islice(self._all(end), self._offset, end)

    def count(self) -> int:
        """How many rows there are, limit and offset not counted; nothing but what is compared is read."""
        return sum(1 for _ in self._all(None, whole=False))

    def first(self) -> T | None:
        """The first row, or None; no page after the one that it is on is read."""
        if self._limit == 0:
            return None
        return next(islice(self._all(self._offset + 1), self._offset, None), None)

    def _all(self, wanted: int | None, *, whole: bool = True) -> Iterator[Any]:
        """Every row that has the values, or only its key. wanted: how many will be taken, if that is known."""
        walk = walk_of(self._target, self._tables, self._keys, self._lookups, whole=whole)
        names, dialect = walk.names, self._dialect
        rows = self._rows_a_page
        if wanted is not None and all(one.exact for one in self._lookups):  # then no row is read in vain
            rows = max(1, min(rows, wanted))
        matches: list[tuple[Matches, Values]] = []

        def read(statement: Select[Any], parameters: dict[str, Any]) -> Sequence[Any]:
            # Each page is a statement of its own, and its rows are compared as the slot is made that it asks.
            plan = StatementPlan(compared=True)
            matchers = [one.matcher(dialect, plan) for one in self._lookups]
            matches[:] = zip(matchers, walk.compared, strict=True)
            return self._read(statement, parameters, plan)

        asked = [one.asked for one in self._lookups]
        for page in walk.pages(read, asked, rows, postgresql=dialect.name == "postgresql"):
            for row in page:
                if all(match(values(row)) for match, values in matches):
                    yield dict(zip(names, row, strict=False)) if names else row[0]

    def _read(self, statement: Select[Any], parameters: dict[str, Any], plan: StatementPlan) -> Sequence[Any]:
        limited = statement.where(*self._conditions) if self._conditions else statement
        return self._source.execute(limited, parameters, execution_options={PLAN: plan}).all()

    @property
    def _dialect(self) -> Any:
        source = self._source
        if isinstance(source, Connection):
            return source.dialect
        mapper = None if isinstance(self._target, Table) else inspect(self._target)
        return source.get_bind(mapper, clause=self._tables[0]).dialect


def find_all(
    source: Session | Connection,
    target: type[T] | Table,
    *conditions: ColumnElement[bool],
    by: Mapping[Any, Any],
    limit: int | None = None,
    offset: int = 0,
    rows_a_page: int = ROWS_A_PAGE,
) -> Found[T]:
    """The rows of a mapped class (as objects) or table (as dictionaries) that have the sealed values, in key order.

    by: {column: value}, all of which must hold; {column: via(index, part)} asks a certain index, {"name": {column:
    value}} one over several columns. conditions: of plain columns, as for where().
    Raises: SealedColumnError, DefinitionError; InvalidValueError for what an index cannot be asked for; and, while rows
    come, what opening a value raises.
    """
    return Found(source, target, conditions, by, limit, offset, rows_a_page)


def find(
    source: Session | Connection, target: type[T] | Table, *conditions: ColumnElement[bool], by: Mapping[Any, Any]
) -> T | None:
    """The first row, in key order, that find_all() finds; None where there is none."""
    found: Found[T] = find_all(source, target, *conditions, by=by, rows_a_page=32)
    return found.first()


def _walked(source: Session | Connection, target: Any) -> "tuple[list[Table], list[Column[Any]]]":
    """The tables that rows are read from, and the primary key that they are walked by."""
    if isinstance(target, Table):
        tables, keys = [target], list(target.primary_key.columns)
    else:
        mapper = inspect(target, raiseerr=False)
        if not isinstance(source, Session) or not isinstance(mapper, Mapper):
            raise SealedColumnError(
                "find() and find_all() take a session and a mapped class, or a session or connection and a table"
            )
        tables = [table for table in mapper.tables if isinstance(table, Table)]
        keys = [column for column in mapper.primary_key if isinstance(column, Column)]
    if not keys:
        raise SealedColumnError(f"{tables[0]} has no primary key to walk its rows by: declare one")
    return tables, keys
