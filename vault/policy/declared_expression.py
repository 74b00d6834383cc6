"""Declared expression: arithmetic over columns that questions may aggregate, under a name, with its bounds."""

from typing import Annotated

from pydantic import AfterValidator, Field

from vault.expression import Expression, QuestionTextError, parse_expression
from vault.policy.bounds import Bounds
from vault.policy.name import refusal


def _canonical(text: str) -> str:
    try:
        return str(parse_expression(text))
    except QuestionTextError as error:
        reason = f"character {error.position}: {error.problem}"
    raise refusal(reason)


class DeclaredExpression(Bounds):
    """`is`: the expression, kept in its canonical text. Its values are float64, so that it has a step."""

    text: Annotated[str, AfterValidator(_canonical), Field(alias="is")]

    @property
    def expression(self) -> Expression:
        return parse_expression(self.text)
