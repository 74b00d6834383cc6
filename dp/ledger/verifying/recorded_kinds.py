"""Recorded kinds: what of an entry stands in a row of which table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Select, Table, bindparam, select

from dp.ledger.answers import digest, stored_bytes
from dp.ledger.store.schema import answer, charge, event, request

__all__ = ["KINDS", "MARKS", "TABLES", "Entry", "Kind"]

Entry = Mapping[str, Any]
PLACE: Final = ("visibility", "dataset", "epoch", "question_mac")
COST: Final = ("nano_epsilon", "nano_rho", "atto_delta", "unbounded")


def _as_it_is(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row


def _with_digest(row: tuple[Any, ...]) -> tuple[Any, ...]:
    sealed = row[-1]
    return row[:-1] + (digest(sealed if type(sealed) is bytes else stored_bytes(sealed)),)  # noqa: RUF005  (half the time)


@dataclass(frozen=True, slots=True)
class Kind:
    """rows: from entry `first` to `last`, in that order.

    of_entry, of_row: give the same for an entry and its row, the number of the entry first. Of what is sealed the log
    has the digest alone.
    """

    table: Table
    rows: Select[Any]
    of_entry: Callable[[Entry], tuple[Any, ...]]
    of_row: Callable[[tuple[Any, ...]], tuple[Any, ...]] = _as_it_is


def _rows(table: Table, *names: str) -> Select[Any]:
    number = table.c.audit_sequence
    wanted = select(number, *(table.c[name] for name in names))
    return wanted.where(number.between(bindparam("first"), bindparam("last"))).order_by(number)


_REQUEST_OF: Final = itemgetter("sequence", *PLACE, "principal", "request", "kind")


def _of_request(entry: Entry) -> tuple[Any, ...]:
    return (*_REQUEST_OF(entry), entry["charge"] if entry["kind"] == "charge" else None, entry.get("reason"))


KINDS: Final = (
    Kind(
        charge,
        _rows(
            charge,
            *(*PLACE, "attempt", "principal", *COST, "charge_id", "request_id", "charged_at", "sealed_question"),
        ),
        itemgetter("sequence", *PLACE, "attempt", "principal", *COST, "charge", "request", "at", "sealed_sha256"),
        _with_digest,
    ),
    Kind(
        answer,
        _rows(answer, *PLACE, "attempt", "charge_id", "sealed_answer"),
        itemgetter("sequence", *PLACE, "attempt", "charge", "sealed_sha256"),
        _with_digest,
    ),
    Kind(
        request,
        _rows(request, *PLACE, "principal", "request_id", "outcome", "charge_id", "reason"),
        _of_request,
    ),
    Kind(event, _rows(event, "event_id"), itemgetter("sequence", "event")),
)

MARKS: Final = ""  # in the place of a table's name
# By the kind of an entry: the table with its row, beside the one of requests.
TABLES: Final = {
    "charge": charge.name,
    "answer": answer.name,
    "event": event.name,
    "unreleased": MARKS,
    "repeat": MARKS,
}
