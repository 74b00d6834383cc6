"""Reencrypt: every sealed value of a table moves to the active key, while services read and write it.

The state of the work is the data itself: the key id in each sealed value. So the job may be killed anywhere and
started again. A row is written back only if all its sealed columns still hold the bytes that were read
(compare-and-swap); what a service wrote meanwhile stays as the service wrote it and is looked at again. A value
that does not open is left byte for byte, and its row is listed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, bindparam, func, select, update

from kms import Purpose
from vault.envelope import SealedValue
from vault.errors import JobIncompleteError, VaultError
from vault.field import Field
from vault.jobs.key_pages import page_statement
from vault.raw_table import raw_table

ROWS_A_BATCH = 1000
# A pass that still finds old rows looks again: writers that hold the old key stop within one sealing lease.
PASSES = 5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one pass is: rows seen, rows there were when the pass began, rows rewritten."""

    number: int
    seen: int
    total: int
    rewritten: int


@dataclass(slots=True)
class Report:
    """What one run did, in rows; `unreadable` holds the primary keys of the rows that were left as they are."""

    table: str
    rewritten: int = 0
    changed_meanwhile: int = 0
    remaining: int = 0
    unreadable: list[tuple[Any, ...]] = field(default_factory=list)

    def require_complete(self) -> None:
        """Raises: JobIncompleteError if a row still depends on an older key."""
        if self.remaining or self.unreadable:
            raise JobIncompleteError(self.table, self.remaining, len(self.unreadable))


def reencrypt(
    engine: Engine,
    table: Table,
    fields: Mapping[str, Field],
    *,
    rows_a_batch: int = ROWS_A_BATCH,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Rewrite each row of `table` whose `fields` (by column name) are not under their keyring's active key."""
    raw = raw_table(table)
    report = Report(table.fullname)
    for number in range(1, PASSES + 1):
        report.remaining, report.unreadable = 0, []
        changed_before = report.changed_meanwhile
        _one_pass(engine, raw, fields, rows_a_batch, number, report, progress)
        if report.changed_meanwhile == changed_before:
            break
    report.remaining = count_under_older_keys(engine, raw, fields, rows_a_batch) - len(report.unreadable)
    return report


def _one_pass(
    engine: Engine,
    raw: Table,
    fields: Mapping[str, Field],
    rows_a_batch: int,
    number: int,
    report: Report,
    progress: Callable[[Progress], None],
) -> None:
    names = _names_to_read(raw, fields)
    width = len(raw.primary_key.columns)
    with engine.connect() as connection:
        total = connection.scalar(select(func.count()).select_from(raw)) or 0
    last: Sequence[Any] | None = None
    seen, rewritten_before = 0, report.rewritten
    while True:
        with engine.begin() as connection:
            statement = page_statement(raw, names, last, rows_a_batch)
            page = connection.execute(statement).all()
            rewritten = _rewrite(connection, raw, fields, page, report)
        report.rewritten += rewritten
        seen += len(page)
        progress(Progress(number, seen, max(total, seen), report.rewritten - rewritten_before))
        if len(page) < rows_a_batch:
            return
        last = page[-1][:width]


def _names_to_read(raw: Table, fields: Mapping[str, Field]) -> list[str]:
    keys = {column.name for column in raw.primary_key.columns}
    bound = {b.name for f in fields.values() for b in f.definition.bound}
    return [*fields, *sorted(bound - keys - set(fields))]


def _rewrite(
    connection: Connection, raw: Table, fields: Mapping[str, Field], page: Sequence[Row[Any]], report: Report
) -> int:
    """Write back the rows of one page that are due; returns how many were written."""
    keys = [column.name for column in raw.primary_key.columns]
    due = []
    for row in page:
        values = row._mapping
        stale = {n for n, f in fields.items() if values[n] is not None and not under_active_key(f, values[n])}
        if not stale:
            continue
        renewed = _renew(fields, stale, values)
        if renewed is None:
            report.unreadable.append(tuple(values[k] for k in keys))
            continue
        due.append(
            {f"key_{k}": values[k] for k in keys}
            | {f"old_{n}": values[n] for n in fields}
            | {f"new_{n}": renewed.get(n, values[n]) for n in fields}
        )
    if not due:
        return 0
    written = connection.execute(_compare_and_swap(raw, list(fields)), due).rowcount
    report.changed_meanwhile += len(due) - written
    return written


def under_active_key(sealed_field: Field, sealed: bytes) -> bool:
    active = sealed_field.keyring.sealing(Purpose.DATA).key.key_id
    try:
        return SealedValue.parse(bytes(sealed)).key_id == active
    except VaultError:
        return False


def _renew(fields: Mapping[str, Field], stale: set[str], values: Mapping[Any, Any]) -> dict[str, bytes | None] | None:
    renewed: dict[str, bytes | None] = {}
    for name in stale:
        bound = {b.name: values[b.name] for b in fields[name].definition.bound} or None
        try:
            renewed[name] = fields[name].seal(fields[name].open(values[name], bound), bound)
        except VaultError:
            return None
    return renewed


def _compare_and_swap(raw: Table, names: Sequence[str]) -> Any:  # an Update; its type is not generic
    keys = [raw.c[c.name] == bindparam(f"key_{c.name}") for c in raw.primary_key.columns]
    unchanged = [raw.c[n].is_not_distinct_from(bindparam(f"old_{n}")) for n in names]
    return update(raw).where(*keys, *unchanged).values({n: bindparam(f"new_{n}") for n in names})


def count_under_older_keys(engine: Engine, raw: Table, fields: Mapping[str, Field], rows_a_batch: int) -> int:
    """The proof at the end: rows in which a field is not under the active key, by a scan of its own."""
    old, last = 0, None
    width = len(raw.primary_key.columns)
    while True:
        with engine.connect() as connection:
            page = connection.execute(page_statement(raw, list(fields), last, rows_a_batch)).all()
        for row in page:
            values = row._mapping
            old += any(values[n] is not None and not under_active_key(f, values[n]) for n, f in fields.items())
        if len(page) < rows_a_batch:
            return old
        last = page[-1][:width]
