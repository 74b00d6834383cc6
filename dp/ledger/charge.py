"""A charge: epsilon spent on one question, recorded before the data is read.

lock the audit head -> a released answer? give it -> room in every budget? spend -> append to the log -> commit
                                                     or refuse, and log that
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, func, insert, select

from dp.errors import DpError
from dp.ledger.answers import Claim, StoredAnswer, digest, find_answer, serve_again
from dp.ledger.audit import AuditHead, AuditLog
from dp.ledger.budget import cost_of
from dp.ledger.place import Place, at_place
from dp.ledger.room import Asked, Refusal, Room, find_room
from dp.ledger.schema import charge
from dp.price import Price

FIND: Final = select(charge.c.attempt).where(charge.c.charge_id == bindparam("charge_id"), at_place(charge))
LAST_ATTEMPT: Final = select(func.max(charge.c.attempt)).where(at_place(charge))
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

    @property
    def asked(self) -> Asked:
        place = self.place
        return Asked(place.dataset, place.epoch, self.principal, self.price, self.columns, self.column_prices)


def charge_or_serve(connection: Connection, log: AuditLog, bid: Bid, *, unsure: bool) -> Claim | StoredAnswer | DpError:
    """A claim on a new charge, a released answer, or the error to raise once the refusal is committed.

    unsure: this bid may have been charged already, by a COMMIT whose answer was lost.
    """
    head = log.lock(connection)
    if unsure and (claim := _find_charge(connection, bid)) is not None:
        return claim
    stored = find_answer(connection, bid.place)
    if stored is not None:
        return serve_again(connection, log, head, stored, bid.principal)
    at = log.now()
    room = find_room(connection, bid.asked, at)
    if isinstance(room, Refusal):
        return _refuse(connection, log, head, bid, room, at)
    room.spend(connection)
    return _record(connection, log, head, bid, room, at)


def _find_charge(connection: Connection, bid: Bid) -> Claim | None:
    # The lock on the head was the lost transaction's too: it has ended by now, and this is its outcome.
    row = connection.execute(FIND, {**bid.place.fields(), "charge_id": bid.charge_id}).one_or_none()
    return None if row is None else Claim(bid.charge_id, bid.place, row.attempt, bid.principal)


def _record(connection: Connection, log: AuditLog, head: AuditHead, bid: Bid, room: Room, at: int) -> Claim:
    before = connection.scalar(LAST_ATTEMPT, bid.place.fields())
    claim = Claim(bid.charge_id, bid.place, (before or 0) + 1, bid.principal)
    cost = cost_of(bid.price)
    head = log.append(
        connection,
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
    )
    row = {
        **bid.place.fields(),
        **cost,
        "attempt": claim.attempt,
        "charge_id": claim.charge_id,
        "principal": bid.principal,
        "sealed_question": bid.sealed_question,
        "audit_sequence": head.sequence,
        "charged_at": at,
    }
    connection.execute(RECORD, row)
    return claim


def _refuse(connection: Connection, log: AuditLog, head: AuditHead, bid: Bid, refusal: Refusal, at: int) -> DpError:
    log.append(
        connection,
        head,
        "refusal",
        at=at,
        **bid.place.fields(),
        **cost_of(bid.price),
        principal=bid.principal,
        reason=refusal.reason,
        short=refusal.short,
    )
    return refusal.error
