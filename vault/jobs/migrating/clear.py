"""Clear: the plaintext of a field that is sealed-only is set NULL, where a sealed value beside it opens.

What has no sealed value, or one that does not open, would be lost: it is left, and listed. So is one that says
something else than its sealed value, which no write through the mapping leaves.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, RowMapping, Select

from vault.errors import FieldError
from vault.jobs.change import Change, Failed
from vault.jobs.migrating.field_work import FieldWork
from vault.jobs.walking.key_pages import key_of

__all__ = ["Clear"]

ALONE: Final = "the plaintext has no sealed value beside it, and would be lost: see whether it is one, and set it NULL"
OTHER: Final = "the plaintext is not what is sealed beside it, and would be lost: see which is right, and set it NULL"
PLAINTEXT: Final = "plaintext"


class Clear(FieldWork):
    """The work of one field of a table. Satisfies Work and Rehearses."""

    kind = "clear"

    @property
    def sets(self) -> list[str]:
        return [self._pair.plaintext]

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        pair, changes, failed = self._pair, [], []
        full = [row for row in rows if row[pair.plaintext] is not None]
        for row, opened, plain in zip(full, pair.opened(full), pair.handed_over(full), strict=True):
            if isinstance(opened, FieldError):
                failed.append(pair.failed(row, pair.sealed, opened))
            elif opened is None:
                failed.append(Failed(key_of(self.table, row), pair.plaintext, ALONE))
            elif pair.keeps_exactly and (isinstance(plain, FieldError) or not pair.are_one(plain, opened)):
                failed.append(Failed(key_of(self.table, row), pair.plaintext, OTHER))
            else:
                changes.append(Change(key_of(self.table, row), pair.old(row), (None,)))
        return changes, failed

    def rehearse(self, rows: Sequence[RowMapping]) -> tuple[int, list[Failed]]:
        changes, failed = self.renew(rows)
        return len(changes), failed

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        return self._pair.counted((), within)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return {} if group[f"none_{self._pair.plaintext}"] else {self._pair.plaintext: PLAINTEXT}
