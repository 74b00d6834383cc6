"""Errors of texts that are read as questions or expressions: they point at the place, and never repeat a literal."""

from vault.errors import VaultError


class QuestionError(VaultError):
    """A question that cannot be asked, found without looking at any data."""


class QuestionTextError(QuestionError):
    """A text that is no question. position: where, counted in characters from 1."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(position, problem)
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return f"question, character {self.position}: {self.problem}"
