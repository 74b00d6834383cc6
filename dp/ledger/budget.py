"""Budget: how much epsilon a dataset may cost one person over its lifetime, and how much of it is spent.

What is spent only grows. The check is part of the UPDATE that spends, so that nobody can come between them.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, insert, select, update

from dp.errors import ParameterError
from dp.ledger.schema import budget
from dp.price import ATTO, Price

# Ours: epsilon 100,000; below it the sum of rho, at most half the square of that of epsilon, stays within 63 bits.
MAX_LIFETIME_NANO: Final = 10**14
FIRST_EPOCH: Final = 1

epsilon_after = budget.c.spent_nano_epsilon + bindparam("epsilon", type_=BigInteger)
rho_after = budget.c.spent_nano_rho + bindparam("rho", type_=BigInteger)
delta_after = budget.c.spent_atto_delta + bindparam("delta", type_=BigInteger)
SPEND: Final = (
    update(budget)
    .where(budget.c.dataset == bindparam("of_dataset"), budget.c.epoch == bindparam("of_epoch"))
    .where(epsilon_after <= budget.c.lifetime_nano_epsilon, delta_after <= budget.c.lifetime_atto_delta)
    .values(spent_nano_epsilon=epsilon_after, spent_nano_rho=rho_after, spent_atto_delta=delta_after)
)


@dataclass(frozen=True, slots=True)
class Status:
    """lifetime, spent, remaining: epsilon in units of 1e-9. rho in 1e-9, delta in 1e-18."""

    dataset: str
    epoch: int
    lifetime: int
    spent: int
    spent_nano_rho: int
    lifetime_atto_delta: int
    spent_atto_delta: int

    @property
    def remaining(self) -> int:
        """Never negative: a lifetime that was lowered below what is spent leaves 0."""
        return max(0, self.lifetime - self.spent)


def read_status(connection: Connection, dataset: str) -> Status | None:
    row = connection.execute(select(budget).where(budget.c.dataset == dataset)).one_or_none()
    if row is None:
        return None
    return Status(
        dataset=row.dataset,
        epoch=row.epoch,
        lifetime=row.lifetime_nano_epsilon,
        spent=row.spent_nano_epsilon,
        spent_nano_rho=row.spent_nano_rho,
        lifetime_atto_delta=row.lifetime_atto_delta,
        spent_atto_delta=row.spent_atto_delta,
    )


def require_lifetime(lifetime_nano: int, lifetime_atto_delta: int) -> None:
    """Raises: ParameterError unless 0 < epsilon <= 100,000 and 0 <= delta < 1, in integers."""
    if type(lifetime_nano) is not int or not 0 < lifetime_nano <= MAX_LIFETIME_NANO:
        raise ParameterError("lifetime_nano", "it must be an int from 1 to 10**14 (epsilon 100000)")
    if type(lifetime_atto_delta) is not int or not 0 <= lifetime_atto_delta < ATTO:
        raise ParameterError("lifetime_atto_delta", "it must be an int from 0 to 10**18 - 1")


def write_lifetime(connection: Connection, dataset: str, lifetime_nano: int, atto_delta: int, *, new: bool) -> None:
    limits = {"lifetime_nano_epsilon": lifetime_nano, "lifetime_atto_delta": atto_delta}
    if new:
        nothing = {"spent_nano_epsilon": 0, "spent_nano_rho": 0, "spent_atto_delta": 0}
        connection.execute(insert(budget).values(dataset=dataset, epoch=FIRST_EPOCH, **limits, **nothing))
    else:
        connection.execute(update(budget).where(budget.c.dataset == dataset).values(**limits))


def write_epoch(connection: Connection, dataset: str, epoch: int) -> None:
    connection.execute(update(budget).where(budget.c.dataset == dataset).values(epoch=epoch))


def spend(connection: Connection, dataset: str, epoch: int, price: Price) -> bool:
    """Whether the price was within the dataset's lifetime, and is now spent."""
    if price.nano_epsilon is None or price.nano_epsilon > MAX_LIFETIME_NANO:
        return False
    asked = {
        "of_dataset": dataset,
        "of_epoch": epoch,
        "epsilon": price.nano_epsilon,
        "rho": price.nano_rho,
        "delta": price.atto_delta,
    }
    return connection.execute(SPEND, asked).rowcount == 1
