"""Recorded rows: each charge, answer, request and event stands in a table as its entry of the log says; no other does.

Rows name the entry that records them, so that both are read side by side, a stretch of the log at a time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from dp.errors import AuditError
from dp.ledger.store.schema import charge, request
from dp.ledger.verifying.recorded_kinds import KINDS, MARKS, TABLES, Entry

__all__ = ["RecordedRows", "require_rows"]


class RecordedRows:
    """Grows stretch by stretch, in the order of the log. counts: of the rows found so far, by table."""

    def __init__(self) -> None:
        self.counts = {kind.table.name: 0 for kind in KINDS}
        self._marks: dict[str, int] = {}

    def mark(self, entry: Entry) -> None:
        """Of one that may say that a charge has no answer."""
        # A repeat names a charge where that was given the answer of another one.
        if TABLES.get(entry["kind"]) == MARKS and "charge" in entry:
            self._marks.setdefault(entry["charge"], entry["sequence"])

    def count(self, found: Mapping[str, int]) -> None:
        for table, rows in found.items():
            self.counts[table] += rows

    def require_no_more(self, connection: Connection) -> None:
        """When the log was read. Raises: AuditError naming a table with rows, or marks, that no entry records."""
        for kind in KINDS:
            if connection.scalar(select(func.count()).select_from(kind.table)) != self.counts[kind.table.name]:
                raise AuditError(f"table {kind.table.name} holds rows that the log does not know")
        marked = select(charge.c.charge_id, charge.c.unreleased_sequence, charge.c.audit_sequence)
        found = {row[0]: row for row in connection.execute(marked.where(charge.c.unreleased_sequence.is_not(None)))}
        for charge_id in found.keys() | self._marks.keys():
            if charge_id not in found or found[charge_id][1] != self._marks.get(charge_id):
                raise AuditError(
                    f"charge {charge_id} is marked as unreleased by the log or in table noisevault_charge, not in both"
                )


def require_rows(connection: Connection, entries: Sequence[Entry], last: int) -> dict[str, int]:
    """The rows of these entries, which end with number `last`, are there and as they were: how many, by table.

    Raises: AuditError naming the first entry of which that is not so.
    """
    among, wrong, counts = {"first": last - len(entries) + 1, "last": last}, [], {}
    recorded = _by_table(entries)
    for kind in KINDS:
        table = kind.table.name
        rows: Sequence[Any] = connection.execute(kind.rows, among).all()
        counts[table] = len(rows)
        found = {row[0]: kind.of_row(tuple(row)) for row in rows}
        expected = {entry["sequence"]: kind.of_entry(entry) for entry in recorded[table]}
        if found != expected:
            wrong.append(_first_difference(table, found, expected))
    if wrong:
        raise AuditError(min(wrong)[1])
    return counts


def _by_table(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries that a row of each table is recorded by."""
    found: dict[str, list[Entry]] = {kind.table.name: [] for kind in KINDS}
    for entry in entries:
        name = TABLES.get(entry["kind"], MARKS)
        if name != MARKS:
            found[name].append(entry)
        if entry.get("request") is not None:
            found[request.name].append(entry)
    return found


def _first_difference(
    table: str, found: Mapping[int, tuple[Any, ...]], expected: Mapping[int, tuple[Any, ...]]
) -> tuple[int, str]:
    number = min(number for number in found.keys() | expected.keys() if found.get(number) != expected.get(number))
    if number in found and number in expected:
        return number, f"the row of table {table} that audit entry {number} records was changed"
    return number, f"table {table} has a row too many or too few for audit entry {number}"
