"""Reencrypt: every sealed value of a table moves to the active key and generation, while services use it.

The state of the work is the data itself: the header of each sealed value. So the job may be killed anywhere and
started again. A row is written back only if all its sealed columns still hold the bytes that were read
(compare-and-swap); what a service wrote meanwhile stays as the service wrote it and is looked at again. A row of
which a value does not open is left byte for byte, and listed.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, Table, bindparam, func, select, update
from sqlalchemy.exc import DBAPIError

from vault.errors import JobIncompleteError
from vault.field import Field
from vault.jobs.contention import was_ended_for_another
from vault.jobs.key_pages import pages
from vault.jobs.renewal import Renewal, current_header, is_stale, renew
from vault.raw_table import raw_table

ROWS_A_BATCH: Final = 1000
# Ours: a pass after which rows had changed meanwhile is followed by another, at most so often.
PASSES: Final = 5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pass is: rows seen of the rows there were when it began."""

    number: int
    seen: int
    total: int


@dataclass(slots=True)
class Report:
    """What one run did, in rows; `unreadable` holds the primary keys of the rows that were left as they are."""

    table: str
    rewritten: int = 0
    changed_meanwhile: int = 0
    remaining: int = 0
    unreadable: list[tuple[Any, ...]] = dataclasses.field(default_factory=list)

    def require_complete(self) -> None:
        """Raises: JobIncompleteError if a row still depends on an older key."""
        if self.remaining or self.unreadable:
            raise JobIncompleteError(self.table, self.remaining, len(self.unreadable))


@dataclass(frozen=True, slots=True)
class Reencryption:
    """Rewrites each row of `table` of which one of `fields` (by column name) has an older key or generation."""

    engine: Engine
    table: Table
    fields: Mapping[str, Field]
    rows_a_batch: int = ROWS_A_BATCH

    def run(self, progress: Callable[[Progress], None] = lambda _: None) -> Report:
        """Until a pass meets no row that changed meanwhile; then count what is left, by a scan of its own."""
        report = Report(self.table.fullname)
        for keyring in {id(field.keyring): field.keyring for field in self.fields.values()}.values():
            keyring.records()  # reads the store: a rotation by another process is seen at once, not a lease later
        for number in range(1, PASSES + 1):
            changed_before = report.changed_meanwhile
            self._one_pass(number, report, progress)
            if report.changed_meanwhile == changed_before:
                break
        report.remaining = max(0, self.count_stale() - len(report.unreadable))
        return report

    def count_stale(self) -> int:
        """The rows in which a field is not under the active key, or of an older generation."""
        current = {name: current_header(field) for name, field in self.fields.items()}
        raw = raw_table(self.table)
        return sum(
            any(is_stale(current[name], row[name]) for name in current)
            for page in pages(self.engine, raw, list(current), self.rows_a_batch)
            for row in page
        )

    def _one_pass(self, number: int, report: Report, progress: Callable[[Progress], None]) -> None:
        raw = raw_table(self.table)
        bound = {name for field in self.fields.values() for name in field.bound_names if name in raw.c}
        with self.engine.connect() as connection:
            total = connection.scalar(select(func.count()).select_from(raw)) or 0
        seen = 0
        report.unreadable = []
        for page in pages(self.engine, raw, [*self.fields, *sorted(bound)], self.rows_a_batch):
            changes, unreadable = renew(self.fields, page)
            report.unreadable += [tuple(row[key.name] for key in raw.primary_key.columns) for row in unreadable]
            written = self._write(raw, changes)
            report.rewritten += written
            report.changed_meanwhile += len(changes) - written
            seen += len(page)
            progress(Progress(number, seen, max(total, seen)))

    def _write(self, raw: Table, changes: Sequence[Renewal]) -> int:
        """Compare and swap, in one short transaction; returns how many rows still were as they had been read.

        Of none when the database ended the transaction for a service's: those rows are looked at again.
        """
        if not changes:
            return 0
        names = list(self.fields)
        same_row = [column == bindparam(f"key_{column.name}") for column in raw.primary_key.columns]
        unchanged = [raw.c[name].is_not_distinct_from(bindparam(f"old_{name}")) for name in names]
        statement = update(raw).where(*same_row, *unchanged).values({n: bindparam(f"new_{n}") for n in names})
        parameters = [
            {f"key_{column.name}": change.row[column.name] for column in raw.primary_key.columns}
            | {f"old_{name}": change.row[name] for name in names}
            | {f"new_{name}": change.renewed.get(name, change.row[name]) for name in names}
            for change in changes
        ]
        try:
            with self._writing() as connection:
                return connection.execute(statement, parameters).rowcount
        except DBAPIError as error:
            if not was_ended_for_another(error):
                raise
        return 0

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """MariaDB's own level would lock the gaps beside the rows as well, where services insert."""
        with self.engine.begin() as connection:
            if connection.dialect.name in {"mysql", "mariadb"}:
                connection.exec_driver_sql(
                    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
                )  # of the one that begins here
            yield connection
