"""An amount: what charges add up to, in exact integers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Self

__all__ = ["NOTHING", "Amount"]


@dataclass(frozen=True, slots=True)
class Amount:
    """Epsilon and rho in units of 1e-9, delta in 1e-18. unbounded: how many of the charges have no epsilon."""

    charges: int = 0
    nano_epsilon: int = 0
    nano_rho: int = 0
    atto_delta: int = 0
    unbounded: int = 0

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Self:
        """Of an entry of the audit log that tells a charge."""
        return cls(1, entry["nano_epsilon"], entry["nano_rho"], entry["atto_delta"], entry["unbounded"])

    @classmethod
    def sum(cls, amounts: Iterable[Self]) -> Self:
        return reduce(cls.plus, amounts, cls())

    def plus(self, other: Self) -> Self:
        return type(self)(
            self.charges + other.charges,
            self.nano_epsilon + other.nano_epsilon,
            self.nano_rho + other.nano_rho,
            self.atto_delta + other.atto_delta,
            self.unbounded + other.unbounded,
        )


NOTHING: Final = Amount()
