"""Stored answers: of each question the first answer that was stored, sealed; everybody gets that one."""

import hashlib
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, insert, select

from dp.ledger.audit import AuditHead, AuditLog
from dp.ledger.place import Place, at_place
from dp.ledger.schema import answer

FIND: Final = select(answer.c.attempt, answer.c.sealed_answer).where(at_place(answer))


@dataclass(frozen=True, slots=True)
class Claim:
    """A charge that was made, and the right to store an answer for it.

    attempt: from 1; a later one is a new charge, made because the ones before had no answer yet.
    """

    charge_id: str
    place: Place
    attempt: int
    principal: str


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
    connection: Connection, log: AuditLog, head: AuditHead, stored: StoredAnswer, principal: str
) -> StoredAnswer:
    """Log that a principal was given a released answer. It costs nothing, also when nothing is left."""
    log.append(connection, head, "repeat", **stored.place.fields(), attempt=stored.attempt, principal=principal)
    return stored


def store_first(connection: Connection, log: AuditLog, claim: Claim, sealed: bytes) -> StoredAnswer:
    """The answer that stands: this one, or the one that was stored before."""
    head = log.lock(connection)
    stored = find_answer(connection, claim.place)
    if stored is not None:
        return serve_again(connection, log, head, stored, claim.principal)
    head = log.append(
        connection,
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
    connection.execute(insert(answer), row)
    return StoredAnswer(claim.place, claim.attempt, sealed)


def record_unreleased(connection: Connection, log: AuditLog, claim: Claim, cause: str) -> None:
    """Log that a charge has no answer and will have none. What it cost stays spent.

    cause: the name of an error's class, for operators; never its text.
    """
    log.append(
        connection,
        log.lock(connection),
        "unreleased",
        **claim.place.fields(),
        cause=cause,
        attempt=claim.attempt,
        charge=claim.charge_id,
        principal=claim.principal,
    )


def digest(sealed: bytes) -> str:
    """What an audit entry keeps of sealed bytes."""
    return hashlib.sha256(sealed).hexdigest()


def stored_bytes(value: object) -> bytes:
    """What a driver gives for stored bytes or text, as bytes; SQLite lets anyone put the one in place of the other."""
    match value:
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case _:
            return str(value).encode("utf-8", "replace")
