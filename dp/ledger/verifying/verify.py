"""Verification: the log is whole, and every counter, charge and answer is what the log says.

It needs the audit keys and no other. It cannot see that the whole database was put back to an earlier state: for
that, keep the head (see AuditHead) somewhere else and hand it in as `at_least`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.exc import OperationalError

from dp.errors import AuditError
from dp.ledger.keys import AuditMacs
from dp.ledger.log.audit import HEAD_ID, AuditHead
from dp.ledger.store.driver_rows import driver_rows
from dp.ledger.store.schema import answer, audit, audit_head, charge
from dp.ledger.store.unreadable import unreadable
from dp.ledger.verifying.chain import Chain
from dp.ledger.verifying.recorded_rows import RecordedRows, require_rows
from dp.ledger.verifying.recount import Recount, with_unsaid
from dp.ledger.verifying.side_by_side import SideBySide

ROWS_AT_A_TIME: Final = 1000
NEXT: Final = (
    select(audit.c.sequence, audit.c.entry, audit.c.key_id, audit.c.mac)
    .where(audit.c.sequence > bindparam("after"))
    .order_by(audit.c.sequence)
    .limit(ROWS_AT_A_TIME)
)
NUMBERS: Final = (
    select(audit.c.sequence)
    .where(audit.c.sequence > bindparam("after"))
    .order_by(audit.c.sequence)
    .limit(ROWS_AT_A_TIME)
)
ONE: Final = select(audit.c.sequence, audit.c.entry, audit.c.key_id, audit.c.mac).where(
    audit.c.sequence == bindparam("number")
)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a sound ledger holds. head: keep it elsewhere as the checkpoint of the next verification."""

    head: AuditHead
    charges: int
    answers: int
    datasets: int


def verify(
    connection: Connection,
    macs: AuditMacs,
    at_least: AuditHead | None = None,
    tell: Callable[[Mapping[str, Any]], object] | None = None,
) -> AuditReport:
    """Read the whole log in order. connection: one that sees a single state throughout.

    tell: is called with each entry that is signed and in its place, before it is known whether all that follow are.
    Raises: AuditError naming the first entry, or else the counter, that is wrong.
    """
    chain, recount, recorded = Chain(macs), Recount(), RecordedRows()
    for rows in pages(connection):
        begin, wrong = chain.last, None
        beside = SideBySide(connection, begin.sequence + 1, begin.sequence + len(rows), recount.charge)
        try:
            for entry in chain.followed(rows, at_least, beside.take_spelled if tell is None else None):
                if entry["kind"] != "answer":
                    with_unsaid(entry)
                    recorded.mark(entry)
                    recount.add(entry)
                beside.take(entry)
                if tell is not None:
                    tell(entry)
        except AuditError as error:
            wrong = error
        counts = beside.counts()
        if counts is None:  # whatever it was; those before the wrong entry, if there is one
            counts = require_rows(connection, _again(macs, begin, rows, chain.last), chain.last.sequence)
        recorded.count(counts)
        if wrong is not None:
            raise wrong
    require_head(connection, chain, at_least)
    recount.require_same(connection)
    recorded.require_no_more(connection)
    counts = recorded.counts
    return AuditReport(chain.last, counts[charge.name], counts[answer.name], len(recount.budgets))


def pages(connection: Connection) -> Iterator[Sequence[Any]]:
    """All rows of the log, in order, a stretch at a time."""
    after = -(2**63)
    while rows := _page(connection, after):
        yield rows
        after = rows[-1][0]


def _page(connection: Connection, after: int) -> Sequence[Any]:
    """The next entries; where one of them cannot be read, those before it."""
    try:
        return list(driver_rows(connection, NEXT, after=after))
    except OperationalError as error:
        if unreadable(error) is None:
            raise
    readable: list[Any] = []
    for number in connection.scalars(NUMBERS, {"after": after}).all():
        try:
            readable += connection.execute(ONE, {"number": number}).all()
        except OperationalError:
            break
    if readable:
        return readable
    raise AuditError(f"audit entry {number} was changed: it holds bytes that are no text")


def _again(macs: AuditMacs, begin: AuditHead, rows: Sequence[Any], last: AuditHead) -> list[dict[str, Any]]:
    """The entries that were followed, from after `begin` to `last`."""
    followed = Chain(macs, begin).followed(rows[: last.sequence - begin.sequence], None)
    return [with_unsaid(entry) for entry in followed]


def require_head(connection: Connection, chain: Chain, at_least: AuditHead | None) -> None:
    """The head that is stored is the last entry of the chain. Raises: AuditError."""
    row = connection.execute(select(audit_head).where(audit_head.c.id == HEAD_ID)).one_or_none()
    last = chain.last
    if row is None:
        raise AuditError("the row of table noisevault_audit_head is gone")
    if type(row.sequence) is not int:
        raise AuditError(f"the row of table noisevault_audit_head names no entry; the last one is {last.sequence}")
    if row.sequence > last.sequence:
        raise AuditError(
            f"audit entry {last.sequence + 1} is missing: the log is cut, its head is entry {row.sequence}"
        )
    if row.sequence < last.sequence:
        raise AuditError(f"audit entry {row.sequence + 1} is beyond the head of the log")
    if row.mac != last.mac:
        raise AuditError(f"audit entry {row.sequence} is not the head of the log that was recorded")
    chain.require_checkpoint(at_least)
