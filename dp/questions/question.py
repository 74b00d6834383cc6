"""A question: one aggregate over the declared groups, of which the sensitivity is known before any data is."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dp.answer import Answer, GroupAnswer, NoiseScale
from dp.bounding import MAX_GROUPS, Bounded, Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.noise.integer_noise import add_noise, noise_scale
from dp.noise.random_source import OperatingSystemRandom, RandomSource
from dp.partial import Partial
from dp.price import Price, require_pure


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Exact totals, secret: totals[part][group]. Adding or removing a unit moves part p by sensitivity()[p] at most,
    summed over the groups."""

    totals: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return "Aggregates(…)"


class Question(Protocol):
    """Nothing after construction raises because of the data."""

    @property
    def caps(self) -> Caps:
        """How much of one unit is counted."""
        ...

    @property
    def n_groups(self) -> int:
        """How many groups are declared; 1 when the question is not grouped."""
        ...

    def sensitivity(self) -> tuple[int, ...]:
        """Of each part: how far one unit can move it, added up over the groups, in steps of its grid."""
        ...

    def parts(self, price: Price) -> tuple[Price, ...]:
        """The share of the price that each part spends; together they cost no more than it.

        Raises: ParameterError when the price is none this question takes, or too small to share out.
        """
        ...

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        """What the answer will say about its noise."""
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

    def release(self, aggregates: Aggregates, price: Price, random: RandomSource) -> tuple[GroupAnswer, ...]:
        """Add the noise: one answer a declared group, in order. The deterministic core under the function release()."""
        ...


def release(question: Question, label: str, aggregates: Aggregates, price: Price) -> Answer:
    """The noisy answer, with fresh noise of the operating system: ask once for each charge, keep what comes.

    label: the question as its reader shall see it. price: what was charged.
    """
    return release_with_random(question, label, aggregates, price, random=OperatingSystemRandom())


def release_with_random(
    question: Question, label: str, aggregates: Aggregates, price: Price, *, random: RandomSource
) -> Answer:
    """The deterministic half of release(). Called by release(), by the ledger's flow and by tests only."""
    return Answer(
        question=label,
        nano_epsilon=require_pure(price),
        caps=question.caps,
        noise=question.noise(price),
        groups=question.release(aggregates, price, random),
    )


def noisy_parts(
    question: Question, aggregates: Aggregates, price: Price, random: RandomSource
) -> tuple[tuple[int, ...], ...]:
    """Each part's totals with its own noise, in order of the parts."""
    return tuple(
        add_noise(totals, scale, random)
        for totals, scale in zip(aggregates.totals, scales(question, price), strict=True)
    )


def scales(question: Question, price: Price) -> tuple[Fraction, ...]:
    """The scale of each part's noise, in steps of its grid: sensitivity / epsilon."""
    shares = question.parts(price)
    return tuple(
        noise_scale(each, require_pure(share)) for each, share in zip(question.sensitivity(), shares, strict=True)
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
