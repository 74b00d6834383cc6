"""Changes: those of a page by their columns, as they are read and written; a Change is made when it is asked for."""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, overload

from vault.jobs.change import Change, Key

__all__ = ["Changes", "Columns"]

# Of some rows: for each column its values, in the order of the rows.
Columns = Sequence[Sequence[Any]]


class Changes(Sequence[Change]):
    """old, new: as of each Change, a sequence for each column, all as long as the keys."""

    __slots__ = ("keys", "new", "old")

    def __init__(self, keys: Sequence[Key], old: Columns, new: Columns) -> None:
        """Raises: ValueError for a column of another length."""
        if any(len(column) != len(keys) for column in (*old, *new)):
            raise ValueError("each column of changes has one value a key")
        self.keys = keys
        self.old = old
        self.new = new

    @classmethod
    def of(cls, changes: Sequence[Change]) -> "Changes":
        """The same changes, at least one, by their columns."""
        if isinstance(changes, Changes):
            return changes
        old, new = (list(zip(*part, strict=True)) for part in zip(*((c.old, c.new) for c in changes), strict=True))
        return cls([change.key for change in changes], old, new)

    def only(self, wanted: Sequence[bool]) -> "Changes":
        """Those for which it is true."""
        old, new = ([[*compress(column, wanted)] for column in part] for part in (self.old, self.new))
        return Changes([*compress(self.keys, wanted)], old, new)

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Change]:
        return map(self.__getitem__, range(len(self.keys)))

    @overload
    def __getitem__(self, at: int) -> Change: ...

    @overload
    def __getitem__(self, at: slice) -> "Changes": ...

    def __getitem__(self, at: int | slice) -> "Change | Changes":
        old, new = ([column[at] for column in part] for part in (self.old, self.new))
        if isinstance(at, slice):
            return Changes(self.keys[at], old, new)
        return Change(self.keys[at], tuple(old), tuple(new))

    def __repr__(self) -> str:
        return f"Changes({len(self)})"
