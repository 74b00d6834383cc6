"""Against: all that one charge counts against, read in one statement: the budget, lifetimes it shares, and scopes.

The same statement says whether the question has its answer: others wait meanwhile, and mostly it has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import BindParameter, Connection, RowMapping, and_, bindparam, func, or_, select

from dp.ledger.budget import Status, status_of
from dp.ledger.counter import Counter, ScopeRow, counters_of
from dp.ledger.place import Place, at_place
from dp.ledger.schema import answer, budget, charge, scope, scope_member, shared_lifetime, shared_member
from dp.ledger.scope_rows import sums_of

_PRINCIPAL: Final[BindParameter[str]] = bindparam("principal")
_GROUPS: Final = select(scope_member.c.subject).where(
    scope_member.c.dataset == bindparam("of_dataset"), scope_member.c.principal == _PRINCIPAL
)
_APPLIES: Final = or_(
    scope.c.kind == "dataset",
    scope.c.kind == "column",  # which of them is looked at here: IN would be another statement for each number of them
    and_(scope.c.kind == "analyst", or_(scope.c.subject == "", scope.c.subject == _PRINCIPAL)),
    and_(scope.c.kind == "group", scope.c.subject.in_(_GROUPS)),
)
_ATTEMPTS: Final = select(func.max(charge.c.attempt)).where(at_place(charge)).scalar_subquery().label("attempts")
_ANSWERS: Final = select(func.count()).select_from(answer).where(at_place(answer)).scalar_subquery().label("answers")
FIND: Final = (
    select(
        *(column for column in budget.c if column.name not in {"source", "separate"}),
        *(column.label(f"shared_{column.name}") for column in shared_lifetime.c),
        *(column.label(f"scope_{column.name}") for column in scope.c if column.name != "dataset"),
        _ATTEMPTS,
        _ANSWERS,
    )
    .outerjoin_from(budget, shared_member, shared_member.c.dataset == budget.c.dataset)
    .outerjoin(shared_lifetime, shared_lifetime.c.name == shared_member.c.name)
    .outerjoin(scope, and_(scope.c.dataset == budget.c.dataset, _APPLIES))
    .where(budget.c.dataset == bindparam("of_dataset"))
)


@dataclass(frozen=True, slots=True)
class Against:
    """least_nano, most_nano: of one question, 0 for no such limit. shared: under their names in place of datasets'.

    attempts: how often the very question was charged before. is_answered: whether its answer is stored.
    """

    status: Status
    least_nano: int
    most_nano: int
    shared: tuple[Status, ...]
    counters: tuple[Counter, ...]
    attempts: int
    is_answered: bool

    @property
    def conversion_atto_delta(self) -> int:
        """At which a sum of rho is told as an epsilon: what the lifetime keeps of its delta for that."""
        return self.status.lifetime_atto_delta - self.status.question_atto_delta


def read_against(
    connection: Connection, place: Place, principal: str, columns: Sequence[str], at: int
) -> Against | None:
    """None where the dataset has no budget. at: microseconds since 1970, UTC."""
    dataset = place.dataset
    asked = {**place.fields(), "of_dataset": dataset, "principal": principal}
    rows = connection.execute(FIND, asked).mappings().all()
    if not rows:
        return None
    # Each shared lifetime stands beside each scope.
    shared = {row["shared_name"]: row for row in rows if row["shared_name"] is not None}
    scopes = {_scope_row(row) for row in rows if row["scope_kind"] is not None}
    touched = [row for row in scopes if row.kind != "column" or row.subject in columns]
    first = rows[0]
    return Against(
        status_of(first, dataset, first["epoch"]),
        first["least_nano_epsilon"],
        first["most_nano_epsilon"],
        tuple(status_of(_shared(row), name, 0) for name, row in sorted(shared.items())),
        counters_of(touched, principal, at, sums_of(connection, dataset)),
        first["attempts"] or 0,
        first["answers"] > 0,
    )


def _scope_row(row: RowMapping) -> ScopeRow:
    return ScopeRow(
        row["scope_kind"],
        row["scope_subject"],
        row["scope_span"],
        row["scope_cap_nano_epsilon"],
        row["scope_bucket"],
        row["scope_spent_nano_epsilon"],
    )


def _shared(row: RowMapping) -> dict[str, int]:
    return {column.name: row[f"shared_{column.name}"] for column in shared_lifetime.c}
