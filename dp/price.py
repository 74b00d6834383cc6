"""Price: what one answer may cost one person, in integers, rounded up."""

from dataclasses import dataclass
from typing import Final, Self

from dp.epsilon import MAX_NANO_EPSILON, laplace_rho, require_nano_epsilon
from dp.errors import ParameterError

# A delta of 1 promises nothing.
ATTO: Final = 10**18
# Beyond it there is no privacy at all, and noise of a variance that no float holds.
MOST_NANO_RHO: Final = laplace_rho(MAX_NANO_EPSILON)


@dataclass(frozen=True, slots=True)
class Price:
    """nano_epsilon and nano_rho in units of 1e-9, atto_delta in units of 1e-18; together one promise told twice.

    nano_epsilon: None when no epsilon bounds the loss, as with Gaussian noise; then rho alone does.

    Raises: ParameterError unless epsilon > 0, 0 < rho <= 5e17 and 0 <= delta < 1.
    """

    nano_epsilon: int | None
    nano_rho: int
    atto_delta: int = 0

    def __post_init__(self) -> None:
        if self.nano_epsilon is not None:
            require_nano_epsilon(self.nano_epsilon)
        if type(self.nano_rho) is not int or not 0 < self.nano_rho <= MOST_NANO_RHO:
            raise ParameterError("nano_rho", "it must be an int above 0, and at most that of the largest epsilon")
        if type(self.atto_delta) is not int or not 0 <= self.atto_delta < ATTO:
            raise ParameterError("atto_delta", "it must be an int from 0 to 10**18 - 1")

    @classmethod
    def pure(cls, nano_epsilon: int) -> Self:
        """Of an answer that is epsilon-private, with no delta: Laplace noise, permute-and-flip."""
        return cls(nano_epsilon, laplace_rho(nano_epsilon))

    @classmethod
    def gaussian(cls, nano_rho: int) -> Self:
        """Of an answer that is rho-zero-concentrated-private and has no epsilon: Gaussian noise."""
        return cls(None, nano_rho)

    @classmethod
    def approximate(cls, nano_epsilon: int, atto_delta: int) -> Self:
        """Of an answer that is epsilon-private but for a part of probability delta: unknown keys behind a threshold."""
        return cls(nano_epsilon, laplace_rho(nano_epsilon), atto_delta)

    @property
    def is_pure(self) -> bool:
        """Whether epsilon alone says everything: there is one, no delta, and rho is what follows from epsilon."""
        return self.nano_epsilon is not None and self == self.pure(self.nano_epsilon)


def require_price(price: Price) -> Price:
    """The same price. Raises: ParameterError for anything that is none."""
    if not isinstance(price, Price):
        raise ParameterError("price", "it must be a Price, such as Price.pure(parse_epsilon('0.5'))")
    return price


def require_pure(price: Price) -> int:
    """The nano-epsilon of a pure price. Raises: ParameterError for any other."""
    if not require_price(price).is_pure or price.nano_epsilon is None:
        raise ParameterError("price", "this question takes a pure epsilon: Price.pure(parse_epsilon('0.5'))")
    return price.nano_epsilon
