"""Restore: the way back: what stands in the sealed column of a migrating field is opened into the plaintext one.

While sealed values are read, they are the truth. Each is sealed anew as its plaintext is written, since the database's
guard lets neither change without the other. A value that does not open, and one that the plaintext column cannot
hold, is left, and listed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, RowMapping, Select

from vault.errors import FieldError
from vault.jobs.change import Change, Failed
from vault.jobs.migrating.field_work import FieldWork
from vault.jobs.walking.key_pages import key_of
from vault.mapping.declared_type import refuse_too_long, restored
from vault.opened import OpenedVault

__all__ = ["Restore"]

HAS_NUL: Final = "the text has a NUL, which not every database keeps in text: change the value first"


class Restore(FieldWork):
    """The work of one field of a table. Satisfies Work, Rehearses and OverlooksRows."""

    kind = "restore"

    def __init__(self, column: "Column[Any]", opened: OpenedVault, *, proving: str = "") -> None:
        """As FieldWork."""
        super().__init__(column, opened, proving=proving)
        self._check = refuse_too_long(self._pair.owner.plaintext_type)
        self._convert = restored(self._pair.owner.type.stored)

    @property
    def sets(self) -> list[str]:
        return [self._pair.plaintext, self._pair.sealed]

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        due, failed = self._due(rows)
        contexts = [self._pair.context(row) for row, _ in due] if self._pair.bound else None
        sealed = self._pair.field.seal_many([opened for _, opened in due], contexts)
        changes = [
            Change(key_of(self.table, row), self._pair.old(row), (self._plaintext_of(opened), new))
            for (row, opened), new in zip(due, sealed, strict=True)
        ]
        return changes, failed

    def rehearse(self, rows: Sequence[RowMapping]) -> tuple[int, list[Failed]]:
        due, failed = self._due(rows)
        return len(due), failed

    def may_overlook(self) -> bool:
        """Two values that differ are counted as two that are alike."""
        return True

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        return self._pair.counted((), within)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return self._pair.unlike(group)

    def _due(self, rows: Sequence[RowMapping]) -> tuple[list[tuple[RowMapping, Any]], list[Failed]]:
        """The rows whose plaintext is not what their sealed value says, with that; None where it is NULL."""
        pair = self._pair
        due: list[tuple[RowMapping, Any]] = []
        failed: list[Failed] = []
        for row, opened, plain in zip(rows, pair.opened(rows), pair.handed_over(rows), strict=True):
            if isinstance(opened, FieldError):
                failed.append(pair.failed(row, pair.sealed, opened))
            elif isinstance(plain, FieldError) or not pair.are_one(plain, opened):
                reason = self._why_not(opened)
                if reason:
                    failed.append(Failed(key_of(self.table, row), pair.sealed, reason))
                else:
                    due.append((row, opened))
        return due, failed

    def _plaintext_of(self, opened: Any) -> Any:
        return opened if opened is None or self._convert is None else self._convert(opened)

    def _why_not(self, opened: Any) -> str:
        try:
            if opened is not None and self._check is not None:
                self._check(opened)
        except FieldError as error:
            return error.reason
        return HAS_NUL if isinstance(opened, str) and "\0" in opened else ""
