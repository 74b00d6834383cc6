"""Budget: what a dataset may cost one person over its lifetime, and how much of it is spent.

What is spent only grows. The check, which is the either-rule (dp/accounting/either_rule.py), is part of the UPDATE that
spends, so that nobody can come between them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, RowMapping, Table, Update, and_, bindparam, insert, or_, select, update

from dp.accounting.either_rule import Limits, Spent
from dp.errors import ParameterError
from dp.ledger.store.schema import budget, shared_lifetime
from dp.ledger.store.writes import Write, require_same
from dp.nano import NANO
from dp.price import ATTO, Price

# Ours: epsilon 100,000; below it the sum of rho, at most half the square of that of epsilon, stays within 63 bits.
MAX_LIFETIME_NANO: Final = 10**14
FIRST_EPOCH: Final = 1
MAX_SUM: Final = 2**63 - 1

_of = {name: bindparam(name, type_=BigInteger) for name in ("epsilon", "rho", "delta", "unbounded")}


def _spending(table: Table) -> Update:
    """Always what is spent against a limit less the price: no such difference leaves 63 bits, as a sum could."""
    return (
        update(table)
        .where(table.c.spent_nano_epsilon <= bindparam("epsilon_room", type_=BigInteger))
        .where(table.c.spent_nano_rho <= bindparam("rho_room", type_=BigInteger))
        .where(table.c.spent_atto_delta <= table.c.question_atto_delta - _of["delta"])
        .where(
            or_(
                and_(
                    table.c.spent_unbounded <= 0 - _of["unbounded"],
                    table.c.spent_nano_epsilon <= table.c.lifetime_nano_epsilon - _of["epsilon"],
                ),
                table.c.spent_nano_rho <= table.c.lifetime_nano_rho - _of["rho"],
            )
        )
        .values(
            spent_nano_epsilon=table.c.spent_nano_epsilon + _of["epsilon"],
            spent_nano_rho=table.c.spent_nano_rho + _of["rho"],
            spent_atto_delta=table.c.spent_atto_delta + _of["delta"],
            spent_unbounded=table.c.spent_unbounded + _of["unbounded"],
        )
    )


SPEND: Final = _spending(budget).where(
    budget.c.dataset == bindparam("of_dataset"), budget.c.epoch == bindparam("of_epoch")
)


@lru_cache(maxsize=64)
def _spending_shared(n: int) -> Update:
    """Of n lifetimes. Built once for each n."""
    names = (shared_lifetime.c.name == bindparam(f"name_{at}") for at in range(n))
    return _spending(shared_lifetime).where(or_(*names))


@dataclass(frozen=True, slots=True)
class Status:
    """lifetime, spent, remaining: epsilon in units of 1e-9. rho in 1e-9, delta in 1e-18.

    question_atto_delta: what the deltas of questions may add up to. lifetime_nano_rho: the sum of rho up to which a
    question fits also where the sum of epsilon is above the lifetime's; 0 without a delta. spent_unbounded: how many
    answers had no epsilon; from the first on the sum of epsilon decides no more.
    """

    dataset: str
    epoch: int
    lifetime: int
    spent: int
    spent_nano_rho: int
    lifetime_atto_delta: int
    spent_atto_delta: int
    question_atto_delta: int = 0
    lifetime_nano_rho: int = 0
    spent_unbounded: int = 0

    @property
    def limits(self) -> Limits:
        return Limits(self.lifetime, self.question_atto_delta, self.lifetime_nano_rho)

    @property
    def sums(self) -> Spent:
        """What the charges add up to."""
        return Spent(self.spent, self.spent_nano_rho, self.spent_atto_delta, self.spent_unbounded)

    @property
    def remaining(self) -> int:
        """Of the sum of epsilon. Never negative: a lifetime that was lowered below what is spent leaves 0."""
        return 0 if self.spent_unbounded else max(0, self.lifetime - self.spent)

    @property
    def remaining_nano_rho(self) -> int:
        return max(0, self.lifetime_nano_rho - self.spent_nano_rho)

    @property
    def remaining_atto_delta(self) -> int:
        return max(0, self.question_atto_delta - self.spent_atto_delta)

    @property
    def largest_question(self) -> int:
        """The most that one more pure question may cost, in nano-epsilon: by the sum of epsilon or by that of rho."""
        return max(self.remaining, isqrt(2 * NANO * self.remaining_nano_rho))


def read_status(connection: Connection, dataset: str) -> Status | None:
    row = connection.execute(select(budget).where(budget.c.dataset == dataset)).mappings().one_or_none()
    return None if row is None else status_of(row, row["dataset"], row["epoch"])


def status_of(row: RowMapping | Mapping[str, Any], dataset: str, epoch: int) -> Status:
    """row: of the table of budgets, or of shared lifetimes."""
    return Status(
        dataset=dataset,
        epoch=epoch,
        lifetime=row["lifetime_nano_epsilon"],
        spent=row["spent_nano_epsilon"],
        spent_nano_rho=row["spent_nano_rho"],
        lifetime_atto_delta=row["lifetime_atto_delta"],
        spent_atto_delta=row["spent_atto_delta"],
        question_atto_delta=row["question_atto_delta"],
        lifetime_nano_rho=row["lifetime_nano_rho"],
        spent_unbounded=row["spent_unbounded"],
    )


def require_lifetime(lifetime_nano: int, lifetime_atto_delta: int) -> None:
    """Raises: ParameterError unless 0 < epsilon <= 100,000 and 0 <= delta < 1, in integers."""
    if type(lifetime_nano) is not int or not 0 < lifetime_nano <= MAX_LIFETIME_NANO:
        raise ParameterError("lifetime_nano", "it must be an int from 1 to 10**14 (epsilon 100000)")
    if type(lifetime_atto_delta) is not int or not 0 <= lifetime_atto_delta < ATTO:
        raise ParameterError("lifetime_atto_delta", "it must be an int from 0 to 10**18 - 1")


def limit_fields(limits: Limits, atto_delta: int) -> dict[str, int]:
    """As the table and the audit entries name them. atto_delta: of the whole lifetime."""
    return {
        "lifetime_nano_epsilon": limits.nano_epsilon,
        "lifetime_atto_delta": atto_delta,
        "question_atto_delta": limits.atto_delta,
        "lifetime_nano_rho": limits.nano_rho,
    }


def cost_of(price: Price) -> dict[str, int]:
    """As the table and the audit entries name it: an epsilon that is unbounded is none, and counted."""
    return {
        "nano_epsilon": price.nano_epsilon or 0,
        "nano_rho": price.nano_rho,
        "atto_delta": price.atto_delta,
        "unbounded": int(price.nano_epsilon is None),
    }


def write_lifetime(connection: Connection, dataset: str, limits: Limits, atto_delta: int, *, new: bool) -> None:
    fields = limit_fields(limits, atto_delta)
    if new:
        nothing = {"spent_nano_epsilon": 0, "spent_nano_rho": 0, "spent_atto_delta": 0, "spent_unbounded": 0}
        connection.execute(insert(budget).values(dataset=dataset, epoch=FIRST_EPOCH, **fields, **nothing))
    else:
        connection.execute(update(budget).where(budget.c.dataset == dataset).values(**fields))


def write_epoch(connection: Connection, dataset: str, epoch: int) -> None:
    connection.execute(update(budget).where(budget.c.dataset == dataset).values(epoch=epoch))


def spending(dataset: str, epoch: int, price: Price) -> Write:
    """Spends the price of the dataset's lifetime, where it is within that."""
    return Write(SPEND, {"of_dataset": dataset, "of_epoch": epoch, **_asked(price)})


def spending_shared(names: Sequence[str], price: Price) -> list[Write]:
    """Spends the price of each of these shared lifetimes, where it is within all of them."""
    of_names = {f"name_{at}": name for at, name in enumerate(names)}
    return [Write(_spending_shared(len(names)), {**of_names, **_asked(price)}, len(names))] if names else []


def _asked(price: Price) -> dict[str, int]:
    """Raises: LedgerError for what no counter holds."""
    cost = cost_of(price)
    require_same(max(cost["nano_epsilon"], price.nano_rho) <= MAX_SUM)
    return {
        "epsilon": cost["nano_epsilon"],
        "rho": price.nano_rho,
        "delta": price.atto_delta,
        "unbounded": cost["unbounded"],
        "epsilon_room": MAX_SUM - cost["nano_epsilon"],
        "rho_room": MAX_SUM - price.nano_rho,
    }
