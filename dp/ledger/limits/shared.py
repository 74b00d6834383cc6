"""Shared lifetime: what several datasets about the same persons may cost together, by the rule of each one's own."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from dp.accounting.either_rule import Limits, Spent
from dp.errors import UnknownDatasetError
from dp.ledger.limits.budget import MAX_SUM, Status, limit_fields, status_of
from dp.ledger.limits.budgets import SharedLifetime
from dp.ledger.limits.consent import Consent
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.store.schema import budget, shared_lifetime, shared_member


@dataclass(frozen=True, slots=True)
class SharedStatus:
    """status: its limits and sums, under the name of the lifetime; the epoch is 0."""

    name: str
    datasets: tuple[str, ...]
    status: Status

    @property
    def declared(self) -> SharedLifetime:
        return SharedLifetime(self.name, self.status.lifetime, self.status.lifetime_atto_delta, self.datasets)


def read_shared(connection: Connection, name: str) -> SharedStatus | None:
    row = connection.execute(select(shared_lifetime).where(shared_lifetime.c.name == name)).mappings().one_or_none()
    if row is None:
        return None
    members = connection.scalars(select(shared_member.c.dataset).where(shared_member.c.name == name)).all()
    return SharedStatus(name, tuple(sorted(members)), status_of(row, name, 0))


def read_shared_of(connection: Connection, dataset: str) -> tuple[SharedStatus, ...]:
    """The shared lifetimes of a dataset, in the order of their names."""
    names = connection.scalars(select(shared_member.c.name).where(shared_member.c.dataset == dataset)).all()
    return tuple(found for name in sorted(names) if (found := read_shared(connection, name)) is not None)


def joined(sums: Spent, others: Iterable[Spent]) -> Spent:
    """What a shared lifetime begins with, or goes on with, when datasets join that have spent already."""
    for other in others:
        sums = sums.adding(other)
    return Spent(*(min(n, MAX_SUM) for n in (sums.nano_epsilon, sums.nano_rho, sums.atto_delta, sums.unbounded)))


def write_shared(
    connection: Connection, log: AuditLog, head: AuditHead, declared: SharedLifetime, consent: Consent
) -> AuditHead:
    """Make or change it; the head after the entry that says so. A dataset that joins brings along all it has spent.

    Raises: UnknownDatasetError.
    """
    before = read_shared(connection, declared.name)
    joining = set(declared.datasets) - set(before.datasets if before else ())
    rows = connection.execute(select(budget).where(budget.c.dataset.in_(joining))).mappings().all()
    for dataset in sorted(joining - {row["dataset"] for row in rows}):
        raise UnknownDatasetError(dataset)
    sums = joined(
        before.status.sums if before else Spent(), (status_of(row, row["dataset"], row["epoch"]).sums for row in rows)
    )
    limits = limit_fields(Limits.of(declared.lifetime_nano, declared.lifetime_atto_delta), declared.lifetime_atto_delta)
    values = {**limits, **spent_fields(sums)}
    if before is None:
        connection.execute(insert(shared_lifetime), {"name": declared.name, **values})
    else:
        connection.execute(update(shared_lifetime).where(shared_lifetime.c.name == declared.name).values(**values))
    connection.execute(delete(shared_member).where(shared_member.c.name == declared.name))
    if declared.datasets:
        connection.execute(
            insert(shared_member), [{"name": declared.name, "dataset": dataset} for dataset in declared.datasets]
        )
    return log.append(
        connection,
        head,
        "lifetime",
        name=declared.name,
        datasets=list(declared.datasets),
        **limits,
        before_nano_epsilon=before.status.lifetime if before else None,
        before_atto_delta=before.status.lifetime_atto_delta if before else None,
        reason=consent.reason,
        accepted=consent.accepted,
    )


def spent_fields(sums: Spent) -> dict[str, int]:
    """As the table names them."""
    return {
        "spent_nano_epsilon": sums.nano_epsilon,
        "spent_nano_rho": sums.nano_rho,
        "spent_atto_delta": sums.atto_delta,
        "spent_unbounded": sums.unbounded,
    }
