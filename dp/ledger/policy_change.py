"""A policy change: an operator declares budgets, or advances an epoch. Each is an entry in the log."""

from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy import Connection

from dp.accounting.either_rule import Limits
from dp.errors import UnknownDatasetError
from dp.ledger.limits.budget import limit_fields, read_status, write_epoch, write_lifetime
from dp.ledger.limits.budgets import Budgets, SharedLifetime
from dp.ledger.limits.consent import Consent
from dp.ledger.limits.copies import share_among_copies
from dp.ledger.limits.declared import budget_fields, read_budgets, write_beside_lifetime
from dp.ledger.limits.shared import read_shared, write_shared
from dp.ledger.log.audit import AuditLog

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What became of a declaration; true where it changed something. warnings: for whoever declared."""

    changed: bool
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.changed


def declare(connection: Connection, log: AuditLog, dataset: str, budgets: Budgets, consent: Consent) -> Declaration:
    """What is spent stays spent. Raises: ParameterError, SoftLimitError."""
    head = log.lock(connection)
    before, limits = read_budgets(connection, dataset), Limits.of(budgets.lifetime_nano, budgets.lifetime_atto_delta)
    status = read_status(connection, dataset)
    # Of tables of an earlier version the limits may be others at the same lifetime.
    changed = before != budgets or status is None or status.limits != limits
    warnings: tuple[str, ...] = ()
    if changed:
        warnings = consent.require(f"dataset {dataset!r}", before.yearly_nano if before else None, budgets.yearly_nano)
        at = log.now()
        write_lifetime(connection, dataset, limits, budgets.lifetime_atto_delta, new=before is None)
        write_beside_lifetime(connection, dataset, budgets, at)
        head = log.append(
            connection,
            head,
            "policy",
            at=at,
            dataset=dataset,
            **limit_fields(limits, budgets.lifetime_atto_delta),
            **budget_fields(budgets),
            before_nano_epsilon=before.lifetime_nano if before else None,
            before_atto_delta=before.lifetime_atto_delta if before else None,
            reason=consent.reason,
            accepted=consent.accepted,
        )
    _, of_copies = share_among_copies(connection, log, head, dataset, budgets, consent)
    return Declaration(changed, (*warnings, *of_copies))


def declare_lifetime(
    connection: Connection, log: AuditLog, dataset: str, nano: int, atto_delta: int, consent: Consent
) -> Declaration:
    """Only the lifetime; what else was declared stays. Raises: ParameterError, SoftLimitError."""
    log.lock(connection)
    before = read_budgets(connection, dataset) or Budgets(nano)
    budgets = replace(before, lifetime_nano=nano, lifetime_atto_delta=atto_delta)
    return declare(connection, log, dataset, budgets, consent)


def share_lifetime(connection: Connection, log: AuditLog, declared: SharedLifetime, consent: Consent) -> Declaration:
    """Raises: ParameterError, SoftLimitError, UnknownDatasetError."""
    head = log.lock(connection)
    before = read_shared(connection, declared.name)
    if before is not None and before.declared == declared:
        return Declaration(changed=False)
    yearly = before.status.lifetime if before else None
    warnings = consent.require(f"lifetime {declared.name!r}", yearly, declared.lifetime_nano)
    write_shared(connection, log, head, declared, consent)
    return Declaration(changed=True, warnings=warnings)


def advance_epoch(connection: Connection, log: AuditLog, dataset: str, reason: str) -> int:
    """The new epoch, one more than the last. Answers of earlier epochs are still given to who asks for those.

    Raises: UnknownDatasetError.
    """
    head = log.lock(connection)
    status = require_declared(read_status(connection, dataset), dataset)
    epoch = status.epoch + 1
    write_epoch(connection, dataset, epoch)
    log.append(connection, head, "epoch", dataset=dataset, epoch=epoch, reason=reason)
    return epoch


def require_declared(found: Found | None, dataset: str) -> Found:
    """What was found of a dataset. Raises: UnknownDatasetError where that is nothing."""
    if found is None:
        raise UnknownDatasetError(dataset)
    return found
