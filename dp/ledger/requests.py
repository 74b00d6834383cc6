"""Requests with an id: one that comes again gets what became of it, and is neither charged nor drawn a second time.

An id is its principal's own: the same text of another principal is another id. The row of table noisevault_request, and
the entry that it was written with (which has the id as "request"), say what became of the request:

    charge    its answer, or that it is charged and not released: also while it is being computed
    repeat    the answer that was released before
    refusal   the same refusal, whatever is in the budget by now

Entries about the same request later have its id as "again". With another question the id is refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, insert, select

from dp.errors import AuditError, BudgetExhaustedError, DpError, NotReleasedError, RequestIdError, UnknownDatasetError
from dp.ledger.answers import StoredAnswer, find_answer
from dp.ledger.canonical_json import Plain
from dp.ledger.errors import QuestionPriceError, StaleEpochError
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.place import Place
from dp.ledger.store.schema import audit, request
from dp.ledger.store.writes import Write

FIND: Final = select(request).where(
    request.c.principal == bindparam("of_principal"), request.c.request_id == bindparam("of_request")
)
ENTRY: Final = select(audit.c.entry).where(audit.c.sequence == bindparam("of_sequence"))
RECORD: Final = insert(request)
# By the reason in the log. Each is made of its own attributes, which are public and stand in the entry as "told".
REFUSALS: Final[Mapping[str, type[DpError]]] = {
    "budget exhausted": BudgetExhaustedError,
    "price out of range": QuestionPriceError,
    "stale epoch": StaleEpochError,
    "unknown dataset": UnknownDatasetError,
}


@dataclass(frozen=True, slots=True)
class Named:
    """A request that has an id: whose, and at which place its question is."""

    principal: str
    request_id: str
    place: Place


def named(principal: str, request_id: str | None, place: Place) -> Named | None:
    return None if request_id is None else Named(principal, request_id, place)


def what_became(connection: Connection, log: AuditLog, head: AuditHead, asked: Named) -> StoredAnswer | DpError | None:
    """Of a request that was here before, logged once more; None for one that was not. Nothing is spent.

    An error is to be raised once this is committed. Raises: AuditError for a row that nobody here wrote.
    """
    row = connection.execute(FIND, {"of_principal": asked.principal, "of_request": asked.request_id}).one_or_none()
    if row is None:
        return None
    fields: dict[str, Plain] = {**asked.place.fields(), "principal": asked.principal, "again": asked.request_id}
    if (row.visibility, row.dataset, row.epoch, row.question_mac) != tuple(asked.place.fields().values()):
        log.append(connection, head, "refusal", **fields, reason="request id")
        return RequestIdError(asked.place.dataset)
    if row.outcome == "refusal":
        log.append(connection, head, "refusal", **fields, reason=row.reason)
        return _refused_before(connection, row)
    stored = find_answer(connection, asked.place)
    if stored is None:
        log.append(connection, head, "refusal", **fields, reason="not released")
        return NotReleasedError(asked.place.dataset)
    log.append(connection, head, "repeat", **fields, attempt=stored.attempt)
    return stored


def remembering(
    asked: Named | None,
    head: AuditHead,
    outcome: str,
    *,
    charge_id: str | None = None,
    reason: str | None = None,
) -> list[Write]:
    """Writes down what became of a request, if it has an id. head: the entry that says so, with its id as "request"."""
    if asked is None:
        return []
    row = {
        **asked.place.fields(),
        "principal": asked.principal,
        "request_id": asked.request_id,
        "outcome": outcome,
        "charge_id": charge_id,
        "reason": reason,
        "audit_sequence": head.sequence,
    }
    return [Write(RECORD, row)]


def id_field(asked: Named | None) -> dict[str, Plain]:
    """What the entry that says what became of a request has of it."""
    return {} if asked is None else {"request": asked.request_id}


def told(asked: Named | None, error: DpError) -> dict[str, Plain]:
    """What a refusal's entry keeps of it, so that the same can be raised again."""
    return {} if asked is None else {"told": dict(vars(error))}


def _refused_before(connection: Connection, row: Row[Any]) -> DpError:
    text = connection.scalar(ENTRY, {"of_sequence": row.audit_sequence})
    try:
        return REFUSALS[row.reason](**json.loads(text or "")["told"])
    except (KeyError, TypeError, ValueError):
        raise AuditError(
            f"audit entry {row.audit_sequence} does not say what the row of table noisevault_request names it for:"
            " verify the audit, restore the ledger"
        ) from None
