"""Recorded rows: each charge, answer, request and event stands in a table as its entry of the log says; no other does.

Rows name the entry that records them, so that both are read side by side, a stretch of the log at a time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, bindparam, func, select

from dp.errors import AuditError
from dp.ledger.answers import digest, stored_bytes
from dp.ledger.schema import answer, charge, event, request

__all__ = ["RecordedRows"]

Entry = Mapping[str, Any]
PLACE: Final = ("visibility", "dataset", "epoch", "question_mac")
COST: Final = ("nano_epsilon", "nano_rho", "atto_delta", "unbounded")


@dataclass(frozen=True, slots=True)
class _Kind:
    """columns: of the row, compared with what `of_entry` gives; of the last only the digest, where it is sealed."""

    table: Table
    columns: tuple[str, ...]
    of_entry: Callable[[Entry], tuple[Any, ...]]
    is_sealed: bool = False

    @property
    def rows(self) -> Select[Any]:
        wanted = select(self.table.c.audit_sequence, *(self.table.c[name] for name in self.columns))
        return wanted.where(self.table.c.audit_sequence.between(bindparam("first"), bindparam("last")))

    def of_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[1:-1], digest(stored_bytes(row[-1]))) if self.is_sealed else row[1:]


_PLACE_OF: Final = itemgetter(*PLACE)


def _of_request(entry: Entry) -> tuple[Any, ...]:
    charge_id = entry["charge"] if entry["kind"] == "charge" else None
    return (*_PLACE_OF(entry), entry["principal"], entry["request"], entry["kind"], charge_id, entry.get("reason"))


KINDS: Final = (
    _Kind(
        charge,
        (*PLACE, "attempt", "principal", *COST, "charge_id", "request_id", "charged_at", "sealed_question"),
        itemgetter(*PLACE, "attempt", "principal", *COST, "charge", "request", "at", "sealed_sha256"),
        is_sealed=True,
    ),
    _Kind(
        answer,
        (*PLACE, "attempt", "charge_id", "sealed_answer"),
        itemgetter(*PLACE, "attempt", "charge", "sealed_sha256"),
        is_sealed=True,
    ),
    _Kind(
        request,
        (*PLACE, "principal", "request_id", "outcome", "charge_id", "reason"),
        _of_request,
    ),
    _Kind(event, ("event_id",), lambda entry: (entry["event"],)),
)


MARKS: Final = ""  # in the place of a table's name
TABLES: Final = {
    "charge": charge.name,
    "answer": answer.name,
    "event": event.name,
    "unreleased": MARKS,
    "repeat": MARKS,
}


class RecordedRows:
    """Grows stretch by stretch, in the order of the log. counts: of the rows found so far, by table."""

    def __init__(self) -> None:
        self.counts = {kind.table.name: 0 for kind in KINDS}
        self._marks: dict[str, int] = {}
        self._statements = [(kind, kind.rows) for kind in KINDS]

    def require(self, connection: Connection, entries: Sequence[Entry], last: int) -> None:
        """The rows of these entries, which end with number `last`, are there and as they were.

        Raises: AuditError naming the first entry of which that is not so.
        """
        numbered = list(enumerate(entries, start=last - len(entries) + 1))
        among, wrong = {"first": last - len(entries) + 1, "last": last}, []
        recorded = _by_table(numbered)
        for kind, statement in self._statements:
            rows: Sequence[Any] = connection.execute(statement, among).all()
            self.counts[kind.table.name] += len(rows)
            found = {row[0]: kind.of_row(row) for row in rows}
            expected = {number: kind.of_entry(entry) for number, entry in recorded[kind.table.name]}
            if found != expected:
                wrong.append(_first_difference(kind.table.name, found, expected))
        if wrong:
            raise AuditError(min(wrong)[1])
        for number, entry in recorded[MARKS]:
            self._marks.setdefault(entry["charge"], number)

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


def _by_table(numbered: Iterable[tuple[int, Entry]]) -> dict[str, list[tuple[int, Entry]]]:
    """The entries that a row of each table is recorded by, and those that mark a charge."""
    found: dict[str, list[tuple[int, Entry]]] = {name: [] for name in (*(kind.table.name for kind in KINDS), MARKS)}
    for each in numbered:
        entry = each[1]
        name = TABLES.get(entry["kind"])
        # A repeat names a charge where that was given the answer of another one.
        if name is not None and (name != MARKS or "charge" in entry):
            found[name].append(each)
        if entry.get("request") is not None:
            found[request.name].append(each)
    return found


def _first_difference(
    table: str, found: Mapping[int, tuple[Any, ...]], expected: Mapping[int, tuple[Any, ...]]
) -> tuple[int, str]:
    number = min(number for number in found.keys() | expected.keys() if found.get(number) != expected.get(number))
    if number in found and number in expected:
        return number, f"the row of table {table} that audit entry {number} records was changed"
    return number, f"table {table} has a row too many or too few for audit entry {number}"
