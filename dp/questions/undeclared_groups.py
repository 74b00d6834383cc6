"""Undeclared groups: how many units each group has whose key nobody declared, where enough have it to be named."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dp.answer import INTERVAL_LABEL, GroupAnswer, NoiseScale
from dp.bounding import MAX_GROUPS, Bounded, bound, bound_part
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.exact_sum import group_counts
from dp.noise.threshold import smallest_threshold
from dp.partial import Partial
from dp.price import Price, require_price
from dp.questions.count_units import require_one_row
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import LAPLACE, Part, PartNoise
from dp.questions.question import Aggregates, require_shape


@dataclass(frozen=True, slots=True)
class Keyed(Aggregates):
    """keys: of the groups that the totals are about, ascending; each has a unit at least."""

    keys: tuple[bytes, ...]

    __repr__ = Aggregates.__repr__


@dataclass(frozen=True, slots=True)
class UndeclaredGroups:
    """The number of units in each group whose key comes from the data. A group is told, with its noisy count, when that
    reaches the threshold T; of the others nothing is.

    Of each unit k groups are kept, those of the smallest salted hash of the key, and it counts once in each.
    Sensitivity k, as in CountUnits: so the counts of keys that two neighbours both have cost epsilon with noise of
    scale k/eps.

    Delta: a key that only one unit has is in one of two neighbours and not in the other. Its count is 1 there, and it
    is told with probability P(1 + Z >= T) = a**(T-1) / (1+a), a = exp(-eps/k). A unit has at most k such keys, so one
    of them is told with probability 1 - (1 - a**(T-1) / (1+a))**k at most; T is the smallest, from 2, for which that is
    within delta (noise/threshold.py). A key that no unit has gets no noise and is never told.

    Counts that were told are those that came out high: near the threshold they are too large on average.

    Raises: ParameterError, also for caps of more than one row.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas 2009, "Releasing search queries and clicks privately".
    """

    caps: Caps

    def __post_init__(self) -> None:
        require_shape(self.caps, 1)
        require_one_row(self.caps)

    @property
    def n_groups(self) -> int:
        """No group is declared; the labels that a request would have for them are those of an ungrouped question."""
        return 1

    @property
    def interval_label(self) -> str:
        return INTERVAL_LABEL

    def threshold(self, price: Price) -> int:
        """The noisy count from which on a key is told. Raises: ParameterError."""
        return _smallest_threshold(self._epsilon(price), self.caps.groups, price.atto_delta)

    def mechanism(self, price: Price) -> str:
        return f"{LAPLACE}, told from {self.threshold(price)} on"

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        return (self._noise(price).told(),)

    def bound(self, chunks: Iterable[Chunk | Partial], salt: bytes) -> Bounded:
        keyed = (rows if isinstance(rows, Partial) else Partial.of_keys(rows) for rows in chunks)
        return bound(keyed, self.caps, salt, n_groups=MAX_GROUPS)

    def part(self, chunks: Iterable[Chunk], salt: bytes) -> Partial:
        return bound_part(map(Partial.of_keys, chunks), self.caps, salt, n_groups=MAX_GROUPS)

    def aggregate(self, bounded: Bounded) -> Keyed:
        keys = bounded.keys or ()
        counted = [(key, n) for key, n in zip(keys, group_counts(bounded.group, len(keys)), strict=True) if n]
        return Keyed((tuple(n for _, n in counted),), tuple(key for key, _ in counted))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        """Raises: ParameterError for the totals of another question."""
        if not isinstance(aggregates, Keyed):
            raise ParameterError("aggregates", "these are of declared groups: make them with this aggregate()")
        noise, counts = self._noise(price), dict(zip(aggregates.keys, aggregates.totals[0], strict=True))
        told = mechanisms.reaching(counts, noise.spread, self.threshold(price))
        return tuple(
            GroupAnswer(place, Fraction(count), (Fraction(low), Fraction(high)), key=key)
            for place, (key, count) in enumerate(told.items())
            for low, high in (noise.around(count),)
        )

    def _noise(self, price: Price) -> PartNoise:
        return PartNoise.of(Part("units", 1, self.caps.groups), Price.pure(self._epsilon(price)))

    def _epsilon(self, price: Price) -> int:
        nano_epsilon = require_price(price).nano_epsilon
        if nano_epsilon is None or price.atto_delta == 0:
            raise ParameterError("price", "keys that nobody declared cost a delta: Price.approximate(epsilon, delta)")
        return nano_epsilon


_smallest_threshold = lru_cache(maxsize=256)(smallest_threshold)
