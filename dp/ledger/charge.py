"""A charge: epsilon spent on one question, recorded before the data is read.

lock the audit head -> a request that was here before? give what became of it
                    -> a released answer? give it -> room in every budget? spend -> append to the log -> commit
                                                     or refuse, and log that
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select

from dp.errors import DpError
from dp.ledger.answers import Claim, StoredAnswer, digest, find_answer, serve_again
from dp.ledger.limits.against import against_of, find_rows
from dp.ledger.limits.budget import cost_of
from dp.ledger.limits.lock_and_read import lock_and_read
from dp.ledger.limits.room import Asked, Refusal, Room, find_room
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.place import Place, at_place
from dp.ledger.requests import Named, id_field, named, remembering, told, what_became
from dp.ledger.store.schema import charge
from dp.ledger.store.unreadable import numbers_and_names
from dp.ledger.store.writes import Write, write
from dp.price import Price

FIND: Final = select(charge.c.attempt).where(charge.c.charge_id == bindparam("charge_id"), at_place(charge))
RECORD: Final = insert(charge)


@dataclass(frozen=True, slots=True)
class Bid:
    """What one asker brings to the ledger. charge_id: 32 hexadecimal digits, never used before."""

    charge_id: str
    place: Place
    principal: str
    price: Price
    sealed_question: bytes
    columns: tuple[str, ...] = ()
    column_prices: tuple[Price, ...] = ()
    request_id: str | None = None

    @property
    def asked(self) -> Asked:
        return Asked(self.place, self.principal, self.price, self.columns, self.column_prices)

    @property
    def named(self) -> Named | None:
        return named(self.principal, self.request_id, self.place)


def charge_or_serve(connection: Connection, log: AuditLog, bid: Bid, *, unsure: bool) -> Claim | StoredAnswer | DpError:
    """A claim on a new charge, a released answer, or the error to raise once the refusal is committed.

    unsure: this bid may have been charged already, by a COMMIT whose answer was lost.
    """
    head, rows = lock_and_read(connection, log, bid.place, bid.principal)
    if unsure and (claim := _find_charge(connection, bid)) is not None:
        return claim
    if bid.named is not None and (became := what_became(connection, log, head, bid.named)) is not None:
        return became
    at = log.now()
    if rows is None:
        rows = find_rows(connection, bid.place, bid.principal)
    with numbers_and_names():
        against = against_of(connection, rows, bid.place.dataset, bid.principal, bid.columns, at)
    if (against is None or against.is_answered) and (stored := find_answer(connection, bid.place)) is not None:
        head = serve_again(connection, log, head, stored, bid.principal, **id_field(bid.named))
        write(connection, remembering(bid.named, head, "repeat"))
        return stored
    with numbers_and_names():
        room = find_room(connection, bid.asked, against)
    if isinstance(room, Refusal):
        return _refuse(connection, log, head, bid, room, at)
    return _record(connection, log, head, bid, room, at)


def _find_charge(connection: Connection, bid: Bid) -> Claim | None:
    # The lock on the head was the lost transaction's too: it has ended by now, and this is its outcome.
    row = connection.execute(FIND, {**bid.place.fields(), "charge_id": bid.charge_id}).one_or_none()
    return None if row is None else Claim(bid.charge_id, bid.place, row.attempt, bid.principal)


def _record(connection: Connection, log: AuditLog, head: AuditHead, bid: Bid, room: Room, at: int) -> Claim:
    claim = Claim(bid.charge_id, bid.place, room.attempt, bid.principal)
    cost = cost_of(bid.price)
    head, entry = log.entry(
        head,
        "charge",
        at=at,
        **bid.place.fields(),
        **cost,
        scopes=room.fields(),
        attempt=claim.attempt,
        charge=claim.charge_id,
        principal=bid.principal,
        sealed_sha256=digest(bid.sealed_question),
        **id_field(bid.named),
    )
    row = {
        **bid.place.fields(),
        **cost,
        "attempt": claim.attempt,
        "charge_id": claim.charge_id,
        "principal": bid.principal,
        "request_id": bid.request_id,
        "charged_at": at,
        "sealed_question": bid.sealed_question,
        "audit_sequence": head.sequence,
    }
    remembered = remembering(bid.named, head, "charge", charge_id=claim.charge_id)
    write(connection, [*room.spending(), *entry, Write(RECORD, row), *remembered])
    return claim


def _refuse(connection: Connection, log: AuditLog, head: AuditHead, bid: Bid, refusal: Refusal, at: int) -> DpError:
    head, entry = log.entry(
        head,
        "refusal",
        at=at,
        **bid.place.fields(),
        **cost_of(bid.price),
        principal=bid.principal,
        reason=refusal.reason,
        short=refusal.short,
        **id_field(bid.named),
        **told(bid.named, refusal.error),
    )
    write(connection, [*entry, *remembering(bid.named, head, "refusal", reason=refusal.reason)])
    return refusal.error
