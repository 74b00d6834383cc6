"""Restore: the way back: what stands in the sealed column of a migrating field is opened into the plaintext one.

While sealed values are read, they are the truth. A value that does not open, and one that the plaintext column cannot
hold, is left, and listed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, RowMapping, Select, Table

from vault.errors import FieldError
from vault.jobs.change import Change, Failed
from vault.jobs.key_pages import key_of
from vault.jobs.two_columns import TwoColumns
from vault.mapping.declared_type import refuse_too_long, restored
from vault.opened import OpenedVault

__all__ = ["Restore"]

HAS_NUL: Final = "the text has a NUL, which not every database keeps in text: change the value first"


class Restore:
    """The work of one field of a table. Satisfies Work and Rehearses."""

    def __init__(self, column: "Column[Any]", opened: OpenedVault) -> None:
        """column: the sealed one. Raises: as TwoColumns."""
        self._pair = TwoColumns(column, opened)
        self._check = refuse_too_long(self._pair.owner.plaintext_type)
        self._convert = restored(self._pair.owner.type.stored)

    @property
    def name(self) -> str:
        return self._pair.job("restore")

    @property
    def table(self) -> Table:
        return self._pair.table

    @property
    def goal(self) -> str:
        return self._pair.definition.fingerprint

    @property
    def reads(self) -> list[str]:
        return self._pair.reads

    @property
    def compares(self) -> list[str]:
        return self._pair.compared

    @property
    def sets(self) -> list[str]:
        return [self._pair.plaintext]

    def refresh(self) -> None:
        """Nothing is learnt later."""

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        pair, changes, failed = self._pair, [], []
        for row, opened, plain in zip(rows, pair.opened(rows), pair.handed_over(rows), strict=True):
            if isinstance(opened, FieldError):
                failed.append(pair.failed(row, pair.sealed, opened))
            elif isinstance(plain, FieldError) or not pair.are_one(plain, opened):
                reason = self._why_not(opened)
                if reason:
                    failed.append(Failed(key_of(self.table, row), pair.sealed, reason))
                    continue
                value = opened if opened is None or self._convert is None else self._convert(opened)
                changes.append(Change(key_of(self.table, row), pair.old(row), (value,)))
        return changes, failed

    def rehearse(self, rows: Sequence[RowMapping]) -> tuple[int, list[Failed]]:
        changes, failed = self.renew(rows)
        return len(changes), failed

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        return self._pair.counted((), within)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return self._pair.unlike(group)

    def _why_not(self, opened: Any) -> str:
        try:
            if opened is not None and self._check is not None:
                self._check(opened)
        except FieldError as error:
            return error.reason
        return HAS_NUL if isinstance(opened, str) and "\0" in opened else ""
