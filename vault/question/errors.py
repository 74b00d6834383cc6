"""Errors of questions: they point at the place and say what is allowed, and never repeat a literal."""

from vault.expression.errors import QuestionError, QuestionTextError

__all__ = ["QuestionError", "QuestionRefusedError", "QuestionTextError"]


class QuestionRefusedError(QuestionError):
    """A question that the policy does not allow. parameter: the part of the question that it is about."""

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(parameter, problem)
        self.parameter = parameter
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.parameter}: {self.problem}"
