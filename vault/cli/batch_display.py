"""Batch display: what questions that were charged at once cost in all, as a line that a person reads and as JSON."""

from dataclasses import dataclass
from typing import Any, Self

import dp
from dp.nano import show_atto
from vault.cli.answer_display import shown_price, shown_units


@dataclass(frozen=True, slots=True)
class ShownBatch:
    """price: of the batch. questions: how many it has. alone: what they add up to where each has an epsilon."""

    price: dp.Price
    questions: int
    alone: int | None

    @classmethod
    def of(cls, released: dp.Answers) -> Self:
        epsilons = [answer.nano_epsilon for answer in released.answers]
        bounded = [nano for nano in epsilons if nano is not None]
        return cls(released.price, len(epsilons), sum(bounded) if len(bounded) == len(epsilons) else None)

    def in_one_line(self) -> str:
        counted = "1 question" if self.questions == 1 else f"{self.questions} questions"
        told = f"as one charge, the batch of {counted} cost {shown_price(self.price)} in all"
        if self.alone is None or self.alone == self.price.nano_epsilon:
            return told
        return f"{told}, in place of epsilon {dp.show(self.alone)}"

    def in_json(self) -> dict[str, Any]:
        """Both sides of the charge: epsilon, where there is one, and rho."""
        return {
            "batch": self.questions,
            "epsilon": shown_units(self.price.nano_epsilon),
            "rho": shown_units(self.price.nano_rho),
            "delta": show_atto(self.price.atto_delta),
        }
