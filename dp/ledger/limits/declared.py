"""Declared: the budgets of a dataset as the tables hold them."""

from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from dp.ledger.canonical_json import Plain
from dp.ledger.limits.budgets import Budgets, Scope
from dp.ledger.limits.spans import SPANS
from dp.ledger.store.schema import budget, scope, scope_bucket, scope_member
from dp.ledger.store.writes import Write, write

KEY: Final = ("dataset", "kind", "subject", "span")
# Not by the names of columns: those stand for what an UPDATE sets.
_AT: Final = [scope.c[name] == bindparam(f"of_{name}") for name in KEY]
SET_CAP: Final = update(scope).where(*_AT).values(cap_nano_epsilon=bindparam("cap"))
NEW_SCOPE: Final = insert(scope)
NEW_BUCKET: Final = insert(scope_bucket)


def read_budgets(connection: Connection, dataset: str) -> Budgets | None:
    row = connection.execute(select(budget).where(budget.c.dataset == dataset)).one_or_none()
    if row is None:
        return None
    columns = (scope.c.kind, scope.c.subject, scope.c.span, scope.c.cap_nano_epsilon)
    capped = scope.c.cap_nano_epsilon.is_not(None)
    scopes = connection.execute(select(*columns).where(scope.c.dataset == dataset, capped)).all()
    in_group = select(scope_member.c.subject, scope_member.c.principal).where(scope_member.c.dataset == dataset)
    return Budgets(
        row.lifetime_nano_epsilon,
        row.lifetime_atto_delta,
        tuple(Scope(*each) for each in scopes),
        tuple((each.subject, each.principal) for each in connection.execute(in_group)),
        row.least_nano_epsilon,
        row.most_nano_epsilon,
        row.source,
        row.separate,
    )


def write_beside_lifetime(connection: Connection, dataset: str, budgets: Budgets, at: int) -> None:
    """Everything but the lifetime, which is there. Scopes that are there go on from what they counted.

    at: the time from which those count that are new; microseconds since 1970.
    """
    connection.execute(
        update(budget)
        .where(budget.c.dataset == dataset)
        .values(
            least_nano_epsilon=budgets.least_nano,
            most_nano_epsilon=budgets.most_nano,
            source=budgets.source,
            separate=budgets.separate,
        )
    )
    connection.execute(update(scope).where(scope.c.dataset == dataset).values(cap_nano_epsilon=None))
    for each in budgets.scopes:
        key = {"dataset": dataset, **dict(zip(KEY[1:], each.key, strict=True))}
        changed = connection.execute(
            SET_CAP, {"cap": each.cap_nano, **{f"of_{name}": value for name, value in key.items()}}
        )
        if changed.rowcount == 0:
            write(connection, new_scope(key, SPANS[each.span].at(at), cap=each.cap_nano))
    connection.execute(delete(scope_member).where(scope_member.c.dataset == dataset))
    members = [{"dataset": dataset, "subject": group, "principal": who} for group, who in budgets.members]
    if members:
        connection.execute(insert(scope_member), members)


def new_scope(key: dict[str, str], bucket: int, *, cap: int | None, nano: int = 0) -> list[Write]:
    """Makes a scope, with its first bucket."""
    row = {**key, "cap_nano_epsilon": cap, "bucket": bucket, "spent_nano_epsilon": nano}
    return [Write(NEW_SCOPE, row), Write(NEW_BUCKET, {**key, "bucket": bucket, "nano_epsilon": nano})]


def budget_fields(budgets: Budgets) -> dict[str, Plain]:
    """As the audit entry names what is beside the lifetime."""
    return {
        "least_nano_epsilon": budgets.least_nano,
        "most_nano_epsilon": budgets.most_nano,
        "source": budgets.source,
        "separate": budgets.separate,
        "scopes": [[*each.key, each.cap_nano] for each in budgets.scopes],
        "members": [list(pair) for pair in budgets.members],
    }
