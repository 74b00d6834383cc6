"""Empty slots: the slot that an index has left loses its terms, so that nothing depends on their key any more."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, Table, func, not_, or_, select

from vault.jobs.change import Change, Failed
from vault.jobs.reindexing.slot_move import SlotMove, with_term_columns
from vault.jobs.walking.key_pages import key_of

__all__ = ["EmptySlots"]


class EmptySlots:
    """The work of emptying slots of a table's indexes. It opens nothing. Satisfies Work."""

    name = "reindex-empty"

    def __init__(
        self, table: Table, moves: Sequence[SlotMove], require_left: Callable[[], None] = lambda: None
    ) -> None:
        """table: as it is mapped. moves: the slots that are written no more. require_left: raises where they are."""
        self._require_left = require_left
        self.table = with_term_columns(table, moves)
        self._moves = moves
        self.slot = moves[0].slot
        self._terms = [move.term_column for move in moves]

    @property
    def goal(self) -> str:
        return hashlib.sha256("\n".join(self._terms).encode()).hexdigest()

    @property
    def reads(self) -> list[str]:
        return [*self._terms, *dict.fromkeys(move.columns[0] for move in self._moves if move.keys is not None)]

    @property
    def compares(self) -> list[str]:
        return self._terms

    @property
    def sets(self) -> list[str]:
        return self._terms

    def refresh(self) -> None:
        """Raises: as require_left."""
        self._require_left()

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        self._require_left()
        changes = []
        for row in rows:
            old = tuple(row[name] for name in self._terms)
            left = (move.keys is not None and not move.is_of(row) for move in self._moves)
            new = tuple(term if kept else None for term, kept in zip(old, left, strict=True))
            if new != old:
                changes.append(Change(key_of(self.table, row), old, new))
        return changes, []

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        empty = [
            or_(self.table.c[move.term_column].is_(None), not_(move.owned(self.table))).label(move.term_column)
            for move in self._moves
        ]
        inner = select(*empty).where(*within).subquery()
        return select(*inner.c, func.count().label("rows")).group_by(*inner.c)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return {name: "still has a term" for name in self._terms if not group[name]}
