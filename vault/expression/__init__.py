"""Expression: arithmetic over the columns of one row, as text and as a value."""

from vault.expression.comparison import Comparison, Operator, Value
from vault.expression.errors import QuestionError, QuestionTextError
from vault.expression.form import Call, Case, Column, Expression, Negated, Number, Operation, Test
from vault.expression.grammar import parse_expression

__all__ = [
    "Call",
    "Case",
    "Column",
    "Comparison",
    "Expression",
    "Negated",
    "Number",
    "Operation",
    "Operator",
    "QuestionError",
    "QuestionTextError",
    "Test",
    "Value",
    "parse_expression",
]
