"""Bounds: the range that values are clamped to and the step of their grid, exact, as a policy declares them."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from dp.grid import Grid
from vault.exact_number import exact_number, normal
from vault.policy.name import refusal
from vault.policy.section import Section


def exact(value: Any) -> Decimal:
    """A number of the policy, exactly: the file's floats arrive as Decimal, text is read as written."""
    try:
        if isinstance(value, str):
            return exact_number(value)
        if isinstance(value, Decimal):
            return normal(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return normal(Decimal(value))
    except ValueError as error:
        reason = str(error)
    else:
        reason = 'expected a number, best as text: "0.01"'
    raise refusal(reason)


ExactNumber = Annotated[Decimal, BeforeValidator(exact)]


class Bounds(Section):
    """The range a column's values are clamped to and the grid step; chosen from the domain, never from the data."""

    lower: ExactNumber
    upper: ExactNumber
    step: Annotated[Decimal | None, BeforeValidator(exact)] = None

    def grid(self, values: Literal["int", "float"]) -> Grid:
        """The grid of the bounds for a column of ints or floats; the step is 1 unless given.

        Raises: dp.errors.ParameterError if the step does not divide the bounds, or the grid is too fine.
        """
        return Grid.of(self.lower, self.upper, Decimal(1) if self.step is None else self.step, values=values)
