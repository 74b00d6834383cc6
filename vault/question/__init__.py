"""Question: what an analyst asks, as text, as a value, and against a policy."""

from vault.question.admission import validate
from vault.question.errors import QuestionError, QuestionRefusedError, QuestionTextError
from vault.question.form import Aggregate, Comparison, Operator, Question
from vault.question.grammar import parse

__all__ = [
    "Aggregate",
    "Comparison",
    "Operator",
    "Question",
    "QuestionError",
    "QuestionRefusedError",
    "QuestionTextError",
    "parse",
    "validate",
]
