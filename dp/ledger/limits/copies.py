"""Copies: datasets of one source hold the same persons' rows, so that they share a lifetime under any name."""

from typing import Final

from sqlalchemy import Connection, select

from dp.ledger.limits.budgets import Budgets, SharedLifetime
from dp.ledger.limits.consent import Consent
from dp.ledger.limits.shared import read_shared, read_shared_of, write_shared
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.store.schema import budget
from dp.nano import show

# No operator's lifetime is called so; the digest of the source is behind it, which says nothing to a person.
OWN_NAME: Final = "copies of "


def is_of_copies(lifetime: str) -> bool:
    """Whether a shared lifetime of this name is one that the ledger made for copies."""
    return lifetime.startswith(OWN_NAME)


def share_among_copies(
    connection: Connection, log: AuditLog, head: AuditHead, dataset: str, budgets: Budgets, consent: Consent
) -> tuple[AuditHead, tuple[str, ...]]:
    """Bring the lifetime of the dataset's copies to what is declared now. The head after that, and what to warn of.

    Its cap is the smallest of theirs. A dataset that is of another source now, or declared separate, leaves; what it
    has spent stays in the sum.
    """
    name = OWN_NAME + budgets.source if budgets.source and not budgets.separate else ""
    for left in read_shared_of(connection, dataset):
        if left.name.startswith(OWN_NAME) and left.name != name:
            others = tuple(each for each in left.datasets if each != dataset)
            rest = SharedLifetime(left.name, left.status.lifetime, left.status.lifetime_atto_delta, others)
            head = write_shared(connection, log, head, rest, consent)
    if not name:
        return head, ()
    of_source = select(budget).where(budget.c.source == budgets.source, budget.c.separate == "")
    rows = connection.execute(of_source).mappings().all()
    others = tuple(sorted(row["dataset"] for row in rows if row["dataset"] != dataset))
    before = read_shared(connection, name)
    if not others and before is None:
        return head, ()
    declared = SharedLifetime(
        name,
        min(row["lifetime_nano_epsilon"] for row in rows),
        min(row["lifetime_atto_delta"] for row in rows),
        (dataset, *others),
    )
    if before is None or before.declared != declared:
        head = write_shared(connection, log, head, declared, consent)
    after = read_shared(connection, name)
    if after is None or not others:
        return head, ()
    warning = (
        f"dataset {dataset!r} has the rows of {', '.join(map(repr, others))}: together they may cost epsilon"
        f" {show(after.status.lifetime)}, of which {show(after.status.remaining)} is left; declare it separate, with"
        " the reason, where it is no copy"
    )
    return head, (warning,)
