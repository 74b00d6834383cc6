"""A policy change: an operator declares a lifetime, or advances an epoch. Each is an entry in the log."""

from sqlalchemy import Connection

from dp.accounting.either_rule import Limits
from dp.errors import UnknownDatasetError
from dp.ledger.audit import AuditLog
from dp.ledger.budget import Status, limit_fields, read_status, write_epoch, write_lifetime


def declare(connection: Connection, log: AuditLog, dataset: str, limits: Limits, atto_delta: int) -> bool:
    """Whether the lifetime was new or other than before. What is spent stays spent."""
    head = log.lock(connection)
    before = read_status(connection, dataset)
    if before is not None and (before.limits, before.lifetime_atto_delta) == (limits, atto_delta):
        return False
    write_lifetime(connection, dataset, limits, atto_delta, new=before is None)
    log.append(
        connection,
        head,
        "policy",
        dataset=dataset,
        **limit_fields(limits, atto_delta),
        before_nano_epsilon=None if before is None else before.lifetime,
        before_atto_delta=None if before is None else before.lifetime_atto_delta,
    )
    return True


def advance_epoch(connection: Connection, log: AuditLog, dataset: str, reason: str) -> int:
    """The new epoch, one more than the last. Answers of earlier epochs are still given to who asks for those.

    Raises: UnknownDatasetError.
    """
    head = log.lock(connection)
    status = require_status(read_status(connection, dataset), dataset)
    epoch = status.epoch + 1
    write_epoch(connection, dataset, epoch)
    log.append(connection, head, "epoch", dataset=dataset, epoch=epoch, reason=reason)
    return epoch


def require_status(status: Status | None, dataset: str) -> Status:
    """Raises: UnknownDatasetError."""
    if status is None:
        raise UnknownDatasetError(
            f"dataset {dataset!r} has no budget in this ledger; declare its lifetime epsilon first"
        )
    return status
