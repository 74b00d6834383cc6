"""Stored answers: of each question the first answer that was stored, sealed; everybody gets that one."""

import hashlib
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select

from dp.errors import NotReleasedError
from dp.last_moment import NO_LAST_MOMENT, LastMoment
from dp.ledger.canonical_json import Plain
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.log.recovery import set_mark
from dp.ledger.place import Place, at_place
from dp.ledger.store.schema import answer, charge
from dp.ledger.store.writes import Write, write

FIND: Final = select(answer.c.attempt, answer.c.sealed_answer).where(at_place(answer))
STATE: Final = select(charge.c.attempt, charge.c.unreleased_sequence).where(
    at_place(charge), charge.c.charge_id == bindparam("of_charge")
)
RECORD: Final = insert(answer)


@dataclass(frozen=True, slots=True)
class Claim:
    """A charge that was made, and the right to store an answer for it.

    attempt: from 1; a later one is a new charge, made because the ones before had no answer yet.
    until: when it has passed there is no such right any more, which is looked at once the ledger is locked.
    """

    charge_id: str
    place: Place
    attempt: int
    principal: str
    until: LastMoment = NO_LAST_MOMENT


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A released answer, still sealed, and the attempt it belongs to."""

    place: Place
    attempt: int
    sealed: bytes


def find_answer(connection: Connection, place: Place) -> StoredAnswer | None:
    row = connection.execute(FIND, place.fields()).one_or_none()
    if row is None:
        return None
    attempt = row.attempt if type(row.attempt) is int else 0  # none has this number: the answer will not open
    return StoredAnswer(place, attempt, stored_bytes(row.sealed_answer))


def serve_again(
    connection: Connection, log: AuditLog, head: AuditHead, stored: StoredAnswer, principal: str, **more: Plain
) -> AuditHead:
    """Log that a principal was given a released answer. It costs nothing, also when nothing is left."""
    fields = {**stored.place.fields(), "attempt": stored.attempt, "principal": principal, **more}
    return log.append(connection, head, "repeat", **fields)


def store_first(connection: Connection, log: AuditLog, claim: Claim, sealed: bytes) -> StoredAnswer | NotReleasedError:
    """The answer that stands: this one, or the one that was stored before.

    An error for a charge that is marked as unreleased (recovery.py), or is not there: no answer is without its charge.
    """
    head = log.lock(connection)
    claim.until.require()
    stored = find_answer(connection, claim.place)
    state = connection.execute(STATE, {**claim.place.fields(), "of_charge": claim.charge_id}).one_or_none()
    if stored is not None:
        of_another = stored.attempt != claim.attempt
        more: dict[str, Plain] = {"charge": claim.charge_id} if of_another else {}
        head = serve_again(connection, log, head, stored, claim.principal, **more)
        if of_another:
            set_mark(connection, claim.charge_id, head)
        return stored
    if state is None or state.attempt != claim.attempt or state.unreleased_sequence is not None:
        return NotReleasedError(claim.place.dataset)
    head, entry = log.entry(
        head,
        "answer",
        **claim.place.fields(),
        attempt=claim.attempt,
        charge=claim.charge_id,
        principal=claim.principal,
        sealed_sha256=digest(sealed),
    )
    row = {
        **claim.place.fields(),
        "attempt": claim.attempt,
        "charge_id": claim.charge_id,
        "sealed_answer": sealed,
        "audit_sequence": head.sequence,
    }
    write(connection, [*entry, Write(RECORD, row)])
    return StoredAnswer(claim.place, claim.attempt, sealed)


def digest(sealed: bytes) -> str:
    """What an audit entry keeps of sealed bytes."""
    return hashlib.sha256(sealed).hexdigest()


def stored_bytes(value: object) -> bytes:
    """What a driver gives for stored bytes or text, as bytes; SQLite lets anyone put the one in place of the other."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return str(value).encode("utf-8", "replace")
