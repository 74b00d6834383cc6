"""Read rows: a page as it was read, each row a mapping, and each column a sequence of its values.

A mapping costs more than reading the row it stands for, so each is made when it is asked for; a work that takes
whole columns needs none.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, overload

from sqlalchemy import Row, RowMapping

__all__ = ["ReadRows", "column_of"]


class ReadRows(Sequence[RowMapping]):
    """names: of the columns, in the order of each row's values."""

    __slots__ = ("_names", "_rows")

    def __init__(self, names: Sequence[str] = (), rows: "Sequence[Row[*tuple[Any, ...]]]" = ()) -> None:
        self._names = list(names)
        self._rows = rows

    def column(self, name: str) -> Sequence[Any]:
        """The values of one column, in the order of the rows. Raises: ValueError if it was not read."""
        if not self._rows:
            return []
        if name not in self._names:
            raise ValueError(f"there is no column {name} among those that were read")
        return list(map(itemgetter(self._names.index(name)), self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RowMapping]:
        return (row._mapping for row in self._rows)  # noqa: SLF001  # SQLAlchemy's public name

    @overload
    def __getitem__(self, at: int) -> RowMapping: ...

    @overload
    def __getitem__(self, at: slice) -> "ReadRows": ...

    def __getitem__(self, at: int | slice) -> "RowMapping | ReadRows":
        if isinstance(at, slice):
            return ReadRows(self._names, self._rows[at])
        return self._rows[at]._mapping  # noqa: SLF001

    def __add__(self, others: "ReadRows") -> "ReadRows":
        return ReadRows(self._names or others._names, [*self._rows, *others._rows])


def column_of(rows: Sequence[RowMapping], name: str) -> Sequence[Any]:
    """The values of one column of rows that were read, whatever holds them."""
    return rows.column(name) if isinstance(rows, ReadRows) else [row[name] for row in rows]
