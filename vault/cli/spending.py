"""Spending: what a question may cost, as the options --epsilon and --rho say it."""

from dataclasses import dataclass
from typing import Annotated, Self

import typer

import dp
from dp.accounting.concentrated import MAX_NANO_RHO
from dp.epsilon import exact_number
from dp.nano import NANO
from vault.policy import DatasetPolicy
from vault.question import Question
from vault.translation import price_of

EpsilonOption = Annotated[
    str | None, typer.Option(help="What each question may cost one person, such as 0.5; exact. The noise is Laplace's.")
]
RhoOption = Annotated[
    str | None, typer.Option(help="In place of epsilon: zero-concentrated, such as 0.01. The noise is Gaussian.")
]
_WRITE = "write a number above 0 with at most nine decimals, such as '0.01'"


@dataclass(frozen=True, slots=True)
class Spending:
    """nano: of epsilon or, where gaussian, of rho, in units of 1e-9."""

    nano: int
    gaussian: bool = False

    @classmethod
    def of(cls, epsilon: str | None, rho: str | None) -> Self:
        """Raises: dp.ParameterError naming the option, also where there are both or none."""
        if epsilon is not None and rho is not None:
            raise dp.ParameterError("rho", "a question has an epsilon or a rho; leave one of the two out")
        if rho is not None:
            return cls(parse_rho(rho), gaussian=True)
        if epsilon is None:
            raise dp.ParameterError("epsilon", "say what a question may cost one person, such as --epsilon 0.5")
        return cls(dp.parse_epsilon(epsilon))

    def price(self, rules: DatasetPolicy, question: Question) -> dp.Price:
        """Raises: QuestionRefusedError for a question that Gaussian noise cannot answer."""
        return price_of(rules, question, self.nano, gaussian=self.gaussian)


def parse_rho(rho: str) -> int:
    """In units of 1e-9, exactly. Raises: dp.ParameterError."""
    nano = exact_number(rho, "rho", _WRITE) * NANO
    if nano.denominator != 1 or not 0 < nano <= MAX_NANO_RHO:
        raise dp.ParameterError("rho", _WRITE)
    return int(nano)
