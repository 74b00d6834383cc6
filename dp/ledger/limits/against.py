"""Against: all that one charge counts against, read in one statement: the budget, lifetimes it shares, and scopes.

The same statement says whether the question has its answer: others wait meanwhile, and mostly it has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BindParameter,
    Connection,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from dp.ledger.canonical_json import Plain
from dp.ledger.limits.budget import Status, status_of
from dp.ledger.limits.counter import Counter, ScopeRow, counters_of
from dp.ledger.limits.scope_rows import sums_of
from dp.ledger.place import Place, at_place
from dp.ledger.store.compiled import read
from dp.ledger.store.schema import answer, budget, charge, scope, scope_member, shared_lifetime, shared_member

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
_LIMITS: Final = (
    "lifetime_nano_epsilon",
    "lifetime_atto_delta",
    "question_atto_delta",
    "lifetime_nano_rho",
    "spent_nano_epsilon",
    "spent_nano_rho",
    "spent_atto_delta",
    "spent_unbounded",
)
_NUMBERS: Final = 11
_NO_NAMES: Final[list[Any]] = [literal_column("''")] * 3


def part(name: str, names: Sequence[Any], *numbers: Any) -> Select[Any]:
    """Names and numbers of one table in the columns that all of them have; what it has not is empty, or 0."""
    filled = [*names, *_NO_NAMES[len(names) :], *numbers, *[literal_column("0")] * (_NUMBERS - len(numbers))]
    labels = ("name", "subject", "span", *(f"n{at}" for at in range(_NUMBERS)))
    every = (column.label(label) for column, label in zip(filled, labels, strict=True))
    return select(literal_column(f"'{name}'").label("part"), *every)


_ATTEMPTS: Final = select(func.max(charge.c.attempt)).where(at_place(charge)).scalar_subquery()
_ANSWERS: Final = select(func.count()).select_from(answer).where(at_place(answer)).scalar_subquery()
_OF_BUDGET: Final = (*(budget.c[name] for name in (*_LIMITS, "epoch", "least_nano_epsilon", "most_nano_epsilon")),)
# One below the other: side by side, each row had all columns of every table, and a driver reads a name for each.
FIND: Final = union_all(
    part("budget", (), *_OF_BUDGET).where(budget.c.dataset == bindparam("of_dataset")),
    part("question", (), _ATTEMPTS, _ANSWERS),
    part("shared", (shared_lifetime.c.name,), *(shared_lifetime.c[name] for name in _LIMITS))
    .join_from(shared_lifetime, shared_member, shared_member.c.name == shared_lifetime.c.name)
    .where(shared_member.c.dataset == bindparam("of_dataset")),
    part(
        "scope",
        (scope.c.kind, scope.c.subject, scope.c.span),
        scope.c.cap_nano_epsilon,
        scope.c.bucket,
        scope.c.spent_nano_epsilon,
    ).where(scope.c.dataset == bindparam("of_dataset"), _APPLIES),
)


Rows: TypeAlias = Sequence[Sequence[Any]]


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
    return against_of(connection, find_rows(connection, place, principal), place.dataset, principal, columns, at)


def find_rows(connection: Connection, place: Place, principal: str) -> Rows:
    """What against_of() makes something of."""
    return read(connection, FIND, values_of(place, principal)).all()


def values_of(place: Place, principal: str) -> dict[str, Plain]:
    return {**place.fields(), "of_dataset": place.dataset, "principal": principal}


def against_of(
    connection: Connection, rows: Rows, dataset: str, principal: str, columns: Sequence[str], at: int
) -> Against | None:
    """As read_against(). connection: to ask what a window holds that has moved on."""
    parts: dict[str, list[Sequence[Any]]] = {"budget": [], "question": [], "shared": [], "scope": []}
    for row in rows:
        parts[row[0]].append(row[1:])
    if not parts["budget"]:
        return None
    ((_, _, _, *limits, epoch, least, most),) = parts["budget"]
    ((_, _, _, attempts, answers, *_),) = parts["question"]
    scopes = (ScopeRow(*values[:6]) for values in parts["scope"])
    touched = [row for row in scopes if row.kind != "column" or row.subject in columns]
    return Against(
        _status(limits, dataset, epoch),
        least,
        most,
        tuple(_status(values[3:], values[0], 0) for values in sorted(parts["shared"], key=lambda values: values[0])),
        counters_of(touched, principal, at, sums_of(connection, dataset)),
        attempts or 0,
        answers > 0,
    )


def _status(limits: Sequence[Any], dataset: str, epoch: int) -> Status:
    return status_of(dict(zip(_LIMITS, limits, strict=False)), dataset, epoch)
