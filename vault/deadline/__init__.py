"""Deadlines: when a question's outcome leaves, whatever it is, so that the time it took tells nothing."""

from vault.deadline.asking import answer_by_deadline, answers_by_deadline
from vault.deadline.desk import Desk
from vault.deadline.errors import BusyError
from vault.deadline.outcome import Outcome, Told

__all__ = ["BusyError", "Desk", "Outcome", "Told", "answer_by_deadline", "answers_by_deadline"]
