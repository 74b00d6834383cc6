"""Question: what an analyst asks, as text, as a value, and against a policy."""

from vault.expression.comparison import Comparison, Operator
from vault.question.admission import admit
from vault.question.errors import QuestionError, QuestionRefusedError, QuestionTextError
from vault.question.form import Aggregate, Question
from vault.question.grammar import parse

__all__ = [
    "Aggregate",
    "Comparison",
    "Operator",
    "Question",
    "QuestionError",
    "QuestionRefusedError",
    "QuestionTextError",
    "admit",
    "parse",
]
