"""Backfill: what stands in the plaintext column of a migrating field is sealed into the other, with its terms.

While plaintext is read, it is the truth: a row whose two columns do not say the same is sealed anew, so that what an
old program wrote to the plaintext alone is not lost. A plaintext that the field cannot hold is left, and listed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, RowMapping, Select

from vault.definitions.index_slot import SLOTS, term_column
from vault.errors import FieldError
from vault.index.field_plan import FieldPlan
from vault.jobs.change import Change, Failed
from vault.jobs.migrating.field_work import FieldWork
from vault.jobs.walking.key_pages import key_of
from vault.opened import OpenedVault

__all__ = ["Backfill"]

NO_TERM: Final = "no term"
_Due = tuple[RowMapping, Any, Mapping[str, bytes | None]]


class Backfill(FieldWork):
    """The work of one field of a table. Satisfies Work, Rehearses and OverlooksRows."""

    kind = "backfill"

    def __init__(self, column: "Column[Any]", opened: OpenedVault, *, proving: str = "") -> None:
        """As FieldWork."""
        super().__init__(column, opened, proving=proving)
        self.refresh()
        # By their names in the definition those in the database, which may be others.
        self._stored = dict(zip(self._plan.columns, (c.name for c in self._pair.owner.term_columns), strict=True))

    @property
    def goal(self) -> str:
        slots = [self._plan.slot(name, slot) for name in self._plan.indexes for slot in SLOTS]
        pins = [f"{terms.pin.key_id.hex()} {terms.pin.generation}" for terms in slots if terms is not None]
        return self._pair.goal(*sorted(self._plan.written), *pins, proving=self.proving)

    @property
    def reads(self) -> list[str]:
        return [*self._pair.reads, *self._stored.values()]

    @property
    def sets(self) -> list[str]:
        return [self._pair.sealed, *self._stored.values()]

    def refresh(self) -> None:
        self._plan = self._pair.field.plan()

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        due, failed = self._due(rows, self._pair.field.plan())  # an index may change over while a pass lasts
        sealed = self._pair.field.seal_many(
            [value for _, value, _ in due], [self._pair.context(row) for row, _, _ in due] if self._pair.bound else None
        )
        changes = [
            Change(key_of(self.table, row), self._pair.old(row), (new, *(terms[name] for name in self._plan.columns)))
            for (row, _, terms), new in zip(due, sealed, strict=True)
        ]
        return changes, failed

    def rehearse(self, rows: Sequence[RowMapping]) -> tuple[int, list[Failed]]:
        due, failed = self._due(rows, self._plan)
        return len(due), failed

    def may_overlook(self) -> bool:
        """Two values that differ are counted as two that are alike."""
        return True

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        return self._pair.counted(self._whole_terms, within)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        found = dict(self._pair.unlike(group))
        if not found and not group[f"none_{self._pair.sealed}"]:
            found = {name: NO_TERM for name in self._whole_terms if group[f"none_{name}"]}
        return found

    @property
    def _whole_terms(self) -> list[str]:
        """The written term columns that have a term for every value, as those of a partial index do not."""
        whole = []
        for name in self._plan.indexes:
            for slot in SLOTS:
                terms = self._plan.slot(name, slot)
                column = term_column(self._pair.definition.column, name, slot)
                if column in self._plan.written and terms is not None and not terms.index.normaliser.partial:
                    whole.append(self._stored[column])
        return whole

    def _due(self, rows: Sequence[RowMapping], plan: FieldPlan) -> tuple[list[_Due], list[Failed]]:
        pair = self._pair
        due: list[_Due] = []
        failed: list[Failed] = []
        for row, value, opened in zip(rows, pair.handed_over(rows), pair.opened(rows), strict=True):
            if isinstance(value, FieldError):
                failed.append(pair.failed(row, pair.plaintext, value))
                continue
            if isinstance(opened, FieldError):
                failed.append(pair.failed(row, pair.sealed, opened))
                continue
            try:
                terms = plan.terms(value)
            except FieldError as error:
                failed.append(pair.failed(row, pair.plaintext, error))
                continue
            if not pair.are_one(value, opened) or any(terms[name] != row[self._stored[name]] for name in plan.written):
                due.append((row, value, terms))
        return due, failed
