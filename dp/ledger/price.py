"""Price: what one answer may cost one person, in integers, rounded up."""

from dataclasses import dataclass
from typing import Final, Self

from dp.epsilon import laplace_rho, require_nano_epsilon
from dp.errors import ParameterError

# A delta of 1 promises nothing.
ATTO: Final = 10**18


@dataclass(frozen=True, slots=True)
class Price:
    """nano_epsilon and nano_rho in units of 1e-9, atto_delta in units of 1e-18.

    Raises: ParameterError unless epsilon > 0, rho > 0 and 0 <= delta < 1.
    """

    nano_epsilon: int
    nano_rho: int
    atto_delta: int = 0

    def __post_init__(self) -> None:
        require_nano_epsilon(self.nano_epsilon)
        if type(self.nano_rho) is not int or self.nano_rho <= 0:
            raise ParameterError("nano_rho", "it must be an int above 0")
        if type(self.atto_delta) is not int or not 0 <= self.atto_delta < ATTO:
            raise ParameterError("atto_delta", "it must be an int from 0 to 10**18 - 1")

    @classmethod
    def pure(cls, nano_epsilon: int) -> Self:
        """The price of an answer that is epsilon-private, with no delta."""
        return cls(nano_epsilon, laplace_rho(nano_epsilon))
