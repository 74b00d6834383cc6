"""A part: one integer a group, of which an additive question has one or more, each with noise of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Self

from dp.answer import GroupAnswer, NoiseScale
from dp.errors import ParameterError
from dp.interval import MISS, gaussian_half_width, half_width
from dp.nano import NANO, show
from dp.noise.integer_noise import noise_scale
from dp.price import Price, require_price, require_pure
from dp.questions.mechanisms import Mechanisms

LAPLACE: Final = "discrete Laplace"
GAUSSIAN: Final = "discrete Gaussian"
PERMUTE_AND_FLIP: Final = "permute-and-flip"


@dataclass(frozen=True, slots=True)
class Part:
    """How far one unit can move the integers of a part, from public parameters alone.

    most: the integer of one group, in steps. groups: of so many groups at most. unit: what a step is in the answer.
    """

    name: str
    most: int
    groups: int
    unit: Fraction = Fraction(1)

    @property
    def l1(self) -> int:
        """Added up over the groups: groups * most."""
        return self.groups * self.most

    @property
    def squared_l2(self) -> int:
        """Squared and added up over the groups: groups * most**2."""
        return self.groups * self.most**2


@dataclass(frozen=True, slots=True)
class PartNoise:
    """The noise of one part at its share of the price: Laplace for an epsilon, Gaussian where there is none.

    spread: of the discrete Laplace its scale, in steps; of the discrete Gaussian its variance, in steps squared.
    """

    part: Part
    share: Price
    spread: Fraction

    @classmethod
    def of(cls, part: Part, share: Price) -> Self:
        """Exactly, from the very integer that is charged: scale l1 / epsilon; variance squared_l2 / (2 * rho)."""
        if share.nano_epsilon is None:
            return cls(part, share, Fraction(part.squared_l2 * NANO, 2 * share.nano_rho))
        return cls(part, share, noise_scale(part.l1, require_pure(share)))

    @property
    def is_gaussian(self) -> bool:
        return self.share.nano_epsilon is None

    def add(self, totals: Sequence[int], mechanisms: Mechanisms) -> tuple[int, ...]:
        return (mechanisms.gaussian if self.is_gaussian else mechanisms.laplace)(totals, self.spread)

    def around(self, noisy: int, miss: Fraction = MISS) -> tuple[int, int]:
        """The integers between which the one without noise lies, but for one answer in 1/miss."""
        reach = self.reach(miss)
        return noisy - reach, noisy + reach

    def reach(self, miss: Fraction = MISS) -> int:
        """How far from the noisy integer the one without noise lies at most, but for one answer in 1/miss."""
        return (gaussian_half_width if self.is_gaussian else half_width)(self.spread, miss)

    def told(self) -> NoiseScale:
        """What an answer says of it, in the unit of the answer."""
        if self.is_gaussian:
            return NoiseScale(self.part.name, self.spread * self.part.unit**2, None, self.share.nano_rho)
        return NoiseScale(self.part.name, self.spread * self.part.unit, self.share.nano_epsilon)


@lru_cache(maxsize=1024)
def part_noises(parts: tuple[Part, ...], price: Price) -> tuple[PartNoise, ...]:
    """Each part with its share of the price. Raises: ParameterError."""
    return tuple(PartNoise.of(part, share) for part, share in zip(parts, shares(price, len(parts)), strict=True))


def shares(price: Price, n: int) -> tuple[Price, ...]:
    """A price in n parts that add up to it: of a pure one epsilon, of a Gaussian one rho, the odd rest to the last.

    Raises: ParameterError for another price, or one too small to be shared.
    """
    gaussian = require_price(price).nano_epsilon is None and price.atto_delta == 0
    whole = price.nano_rho if gaussian else require_pure(price)
    if whole < n:
        raise ParameterError(
            "rho" if gaussian else "epsilon", f"this question shares it among {n} parts; ask with {show(n)} or more"
        )
    each = [whole // n] * (n - 1)
    make = Price.gaussian if gaussian else Price.pure
    return tuple(map(make, (*each, whole - sum(each))))


def released(noise: PartNoise, totals: Sequence[int], mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
    """The answer of a question of one part: each group's noisy integer, in the unit of the answer."""
    # A Fraction of two integers is made in a third of the time that the product of a Fraction takes.
    times, over, reach = noise.part.unit.numerator, noise.part.unit.denominator, noise.reach()
    return tuple(
        GroupAnswer(
            group,
            Fraction(total * times, over),
            (Fraction((total - reach) * times, over), Fraction((total + reach) * times, over)),
        )
        for group, total in enumerate(noise.add(totals, mechanisms))
    )


def mechanism_of(price: Price) -> str:
    """What the noise of an additive question is called."""
    return GAUSSIAN if price.nano_epsilon is None else LAPLACE
