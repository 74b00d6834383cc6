"""The either-rule: what a lifetime allows when questions, and what they cost, are chosen as one goes.

A lifetime promises (B, dq + dc). A question fits when, counting itself, the sum of delta stays within dq and either
the sum of epsilon is within B or the sum of rho within R, the largest rho that converts to B at dc. A price without
epsilon closes the first way for good. docs/privacy.md has the proof.
"""

from dataclasses import dataclass
from typing import Self

from dp.accounting.concentrated import largest_rho
from dp.price import Price


@dataclass(frozen=True, slots=True)
class Limits:
    """What a dataset may cost one person over its lifetime; epsilon and rho in units of 1e-9, delta in 1e-18.

    atto_delta: dq, what the deltas of questions may add up to. nano_rho: R; 0 where only the sum of epsilon counts.
    """

    nano_epsilon: int
    atto_delta: int = 0
    nano_rho: int = 0

    @classmethod
    def of(cls, nano_epsilon: int, atto_delta: int) -> Self:
        """The limits that together promise (epsilon, delta): half of delta is for questions, the other half for R.

        Raises: ParameterError.
        """
        for_questions = atto_delta // 2
        return cls(nano_epsilon, for_questions, largest_rho(nano_epsilon, atto_delta - for_questions))


@dataclass(frozen=True, slots=True)
class Spent:
    """The sums of prices. nano_epsilon: of those that have one. unbounded: how many have none."""

    nano_epsilon: int = 0
    nano_rho: int = 0
    atto_delta: int = 0
    unbounded: int = 0

    def plus(self, price: Price) -> "Spent":
        return self.adding(
            Spent(price.nano_epsilon or 0, price.nano_rho, price.atto_delta, int(price.nano_epsilon is None))
        )

    def adding(self, other: "Spent") -> "Spent":
        return Spent(
            self.nano_epsilon + other.nano_epsilon,
            self.nano_rho + other.nano_rho,
            self.atto_delta + other.atto_delta,
            self.unbounded + other.unbounded,
        )

    def within_epsilon(self, limits: Limits) -> bool:
        return not self.unbounded and self.nano_epsilon <= limits.nano_epsilon

    def within_rho(self, limits: Limits) -> bool:
        return self.nano_rho <= limits.nano_rho

    def within(self, limits: Limits) -> bool:
        """Whether the lifetime allows what is spent."""
        return self.atto_delta <= limits.atto_delta and (self.within_epsilon(limits) or self.within_rho(limits))
