"""Additive: what questions have in common whose parts are integers, each with noise of its own."""

from typing import Protocol

from dp.answer import INTERVAL_LABEL, NoiseScale
from dp.price import Price
from dp.questions.part import Part, mechanism_of, part_noises

__all__ = ["Additive"]


class _HasParts(Protocol):
    @property
    def parts(self) -> tuple[Part, ...]: ...


class Additive:
    """Takes a pure or a Gaussian price, and says of each of its `parts` which noise that gives."""

    __slots__ = ()

    @property
    def interval_label(self) -> str:
        return INTERVAL_LABEL

    def mechanism(self, price: Price) -> str:
        return mechanism_of(price)

    def noise(self: _HasParts, price: Price) -> tuple[NoiseScale, ...]:
        return tuple(noise.told() for noise in part_noises(self.parts, price))
