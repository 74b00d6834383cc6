"""Room: whether a charge fits everything that it counts against, and what it costs each; then it is spent of all."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from dp.accounting.concentrated import epsilon_of
from dp.errors import BudgetExhaustedError, DpError, UnknownDatasetError
from dp.ledger.canonical_json import Plain
from dp.ledger.errors import QuestionPriceError, StaleEpochError
from dp.ledger.limits.against import Against, read_against
from dp.ledger.limits.budget import MAX_SUM, Status, spending, spending_shared
from dp.ledger.limits.copies import is_of_copies
from dp.ledger.limits.counter import Counter
from dp.ledger.limits.scope_rows import buckets_from, spending_scopes
from dp.ledger.place import Place
from dp.ledger.store.writes import Write
from dp.price import Price


@dataclass(frozen=True, slots=True)
class Asked:
    """What a charge is for. column_prices: as in a request."""

    place: Place
    principal: str
    price: Price
    columns: tuple[str, ...] = ()
    column_prices: tuple[Price, ...] = ()

    @property
    def is_converted(self) -> bool:
        """Whether its rho has to be converted to an epsilon, where a scope counts that."""
        return any(price.nano_epsilon is None for price in (self.price, *self.column_prices))

    @property
    def dataset(self) -> str:
        return self.place.dataset


@dataclass(frozen=True, slots=True)
class Refusal:
    """reason, short: for the log; short names what has too little left, where that is not the dataset's lifetime."""

    reason: str
    error: DpError
    short: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """What a charge that fits is to be added to. costs: each counter with what it costs, in nano-epsilon.

    attempt: the number of the charge among those of the very question, from 1.
    """

    asked: Asked
    shared: tuple[str, ...]
    costs: tuple[tuple[Counter, int], ...]
    attempt: int

    def spending(self) -> list[Write]:
        """Adds it to all, where each is still as it was looked at. Raises: LedgerError."""
        asked = self.asked
        return [
            spending(asked.dataset, asked.place.epoch, asked.price),
            *spending_shared(self.shared, asked.price),
            *spending_scopes(asked.dataset, self.costs),
        ]

    def fields(self) -> list[Plain]:
        """As the audit entry names the scopes: kind, subject, span, bucket, nano-epsilon."""
        return [[*counter.key, counter.window.bucket, nano] for counter, nano in self.costs]


def find_room(connection: Connection, asked: Asked, against: Against | None) -> Room | Refusal:
    """against: what was read for it under the lock; None where the dataset has no budget."""
    if against is None:
        return Refusal("unknown dataset", UnknownDatasetError(asked.dataset))
    refusal = _of_lifetimes(against, asked) or _of_price(against, asked)
    if refusal is not None:
        return refusal
    costs = tuple((counter, _cost(counter, against, asked)) for counter in against.counters)
    short = [(counter, nano) for counter, nano in costs if nano > counter.remaining]
    if short:
        return _short(connection, asked.dataset, short)
    return Room(asked, tuple(shared.dataset for shared in against.shared), costs, against.attempts + 1)


def delta_to_convert_at(connection: Connection, asked: Asked, at: int) -> int:
    """The delta, in units of 1e-18, at which a rho will be told as an epsilon; 0 where none will."""
    against = read_against(connection, asked.place, asked.principal, asked.columns, at)
    if against is None or not (against.counters or against.least_nano or against.most_nano):
        return 0
    return against.conversion_atto_delta


def fits(status: Status, price: Price) -> bool:
    sums = status.sums.plus(price)
    return sums.within(status.limits) and max(sums.nano_epsilon, sums.nano_rho) <= MAX_SUM


def exhausted(dataset: str, status: Status, price: Price, scope: str = "") -> BudgetExhaustedError:
    """Says what is short of a lifetime: what would help to ask less of. scope: its name, where it is a shared one."""
    if price.atto_delta > status.remaining_atto_delta:
        return BudgetExhaustedError(dataset, price.atto_delta, status.remaining_atto_delta, "delta", scope=scope)
    if price.nano_epsilon is None:
        return BudgetExhaustedError(dataset, price.nano_rho, status.remaining_nano_rho, "rho", scope=scope)
    return BudgetExhaustedError(dataset, price.nano_epsilon, status.largest_question, scope=scope)


def convert_ahead(connection: Connection, asked: Asked, at: int) -> None:
    """To an epsilon, which takes a tenth of a second the first time: nobody is to wait for it at the log's head."""
    delta = delta_to_convert_at(connection, asked, at)
    for price in (asked.price, *asked.column_prices) if delta else ():
        stand_alone(price, delta)


def stand_alone(price: Price, atto_delta: int) -> int:
    """The nano-epsilon of an answer by itself; without one, what its rho converts to at delta, rounded up.

    Raises: ParameterError where there is neither an epsilon nor a delta.
    """
    return epsilon_of(price.nano_rho, atto_delta) if price.nano_epsilon is None else price.nano_epsilon


def _of_lifetimes(against: Against, asked: Asked) -> Refusal | None:
    if against.status.epoch != asked.place.epoch:
        return Refusal("stale epoch", StaleEpochError(asked.dataset, asked.place.epoch, against.status.epoch))
    if not fits(against.status, asked.price):
        return Refusal("budget exhausted", exhausted(asked.dataset, against.status, asked.price))
    for shared in against.shared:
        if not fits(shared, asked.price):
            of_copies = is_of_copies(shared.dataset)
            name = "the lifetime of all copies" if of_copies else f"lifetime {shared.dataset!r}"
            return Refusal("budget exhausted", exhausted(asked.dataset, shared, asked.price, name), name)
    return None


def _of_price(against: Against, asked: Asked) -> Refusal | None:
    """Looked at after the lifetime: where a price without an epsilon is within that, there is a delta to convert at."""
    least, most = against.least_nano, against.most_nano
    if not (least or most):
        return None
    nano = stand_alone(asked.price, against.conversion_atto_delta)
    if least <= nano and (not most or nano <= most):
        return None
    return Refusal("price out of range", QuestionPriceError(asked.dataset, nano, least, most))


def _cost(counter: Counter, against: Against, asked: Asked) -> int:
    whole = stand_alone(asked.price, against.conversion_atto_delta)
    if counter.kind != "column" or not asked.column_prices:
        return whole
    own = asked.column_prices[asked.columns.index(counter.subject)]
    return min(whole, stand_alone(own, against.conversion_atto_delta))


def _short(connection: Connection, dataset: str, short: Sequence[tuple[Counter, int]]) -> Refusal:
    """Of several the one that is short for the longest time."""
    when = [(refills_at(connection, dataset, counter, nano), counter, nano) for counter, nano in short]
    refills, counter, nano = max(when, key=lambda each: MAX_SUM if each[0] is None else each[0])
    error = BudgetExhaustedError(dataset, nano, counter.remaining, scope=str(counter), refills_at=refills)
    return Refusal("budget exhausted", error, str(counter))


def refills_at(connection: Connection, dataset: str, counter: Counter, nano: int) -> int | None:
    """When so much will be within the cap, in microseconds since 1970, if nothing else is asked; None for never."""
    if counter.cap_nano is None or nano > counter.cap_nano:
        return None
    span, left = counter.window.span, counter.window.nano
    for bucket, spent in buckets_from(connection, dataset, counter.key, span.first(counter.window.bucket)):
        left -= spent
        if left + nano <= counter.cap_nano:
            return span.leaves_at(bucket)
    return None
