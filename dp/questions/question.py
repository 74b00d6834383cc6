"""A question: one aggregate over the declared groups, of which the sensitivity is known before any data is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from dp.answer import Answer, GroupAnswer, NoiseScale
from dp.bounding import MAX_GROUPS, Bounded
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.noise.random_source import OperatingSystemRandom
from dp.partial import Partial
from dp.price import Price
from dp.questions.mechanisms import Mechanisms, RandomMechanisms


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Exact totals, secret: totals[part][group]."""

    totals: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class Question(Protocol):
    """Nothing after construction raises because of the data."""

    @property
    def caps(self) -> Caps:
        """How much of one unit is counted."""
        ...

    @property
    def n_groups(self) -> int:
        """How many declared groups the answer is about; 1 when the question is not grouped."""
        ...

    @property
    def interval_label(self) -> str:
        """What the answer's intervals are intervals of."""
        ...

    def mechanism(self, price: Price) -> str:
        """What the noise is called at this price."""
        ...

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        """What the answer will say about its noise. The shares of its parts cost no more than the price together.

        Raises: ParameterError when the price is none this question takes, or too small to share out.
        """
        ...

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        """The rows that count. salt: fixed per dataset."""
        ...

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        """Of a part of the rows those that may count, for bound()."""
        ...

    def aggregate(self, bounded: Bounded) -> Aggregates:
        """Exact totals of the rows that count."""
        ...

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        """Add the noise: the deterministic core under the function release(). What the mechanisms do not give is
        computed from public parameters and from what they gave."""
        ...


def release(question: Question, label: str, aggregates: Aggregates, price: Price) -> Answer:
    """The noisy answer, with fresh noise of the operating system: ask once for each charge, keep what comes.

    label: the question as its reader shall see it. price: what was charged.
    """
    return release_by(question, label, aggregates, price, RandomMechanisms(OperatingSystemRandom()))


def release_by(question: Question, label: str, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> Answer:
    """The deterministic half of release(). Called by release(), by the ledger's flow and by tests only."""
    pure = price.nano_epsilon is not None
    return Answer(
        question=label,
        nano_epsilon=price.nano_epsilon,
        caps=question.caps,
        noise=question.noise(price),
        groups=question.release(aggregates, price, mechanisms),
        mechanism=question.mechanism(price),
        atto_delta=price.atto_delta,
        interval_label=question.interval_label,
        nano_rho=None if pure else price.nano_rho,
    )


def require_shape(caps: Caps, n_groups: int) -> None:
    """Raises: ParameterError unless these are caps and a number of groups."""
    if not isinstance(caps, Caps):
        raise ParameterError("caps", "say how much of one unit counts, Caps(rows=1)")
    if type(n_groups) is not int or not 1 <= n_groups <= MAX_GROUPS:
        raise ParameterError("n_groups", "it is the number of declared groups, 1 for an ungrouped question")


def require_grid(grid: Grid) -> None:
    """Raises: ParameterError unless bounds are declared."""
    if not isinstance(grid, Grid):
        raise ParameterError("bounds", "declare them, Grid.of(lower, upper, step); they are never read from the data")
