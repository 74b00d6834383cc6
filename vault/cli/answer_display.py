"""Answer display: a released answer as a table that a person reads, and as JSON for a program."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from rich.table import Table
from rich.text import Text

import dp
from dp.nano import show_atto
from vault.policy import Policy
from vault.question import Question
from vault.reporting.page import visible
from vault.rows.arrays import label_of
from vault.translation import Label, headings, labels

# An amount of money, and any other that is not finer.
LEAST_DECIMALS = 2


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """headings: of the parts of a label. labels: of all groups that there can be. decimals: of the numbers shown."""

    question: Question
    released: dp.Answer
    headings: tuple[str, ...]
    labels: tuple[Label, ...]
    decimals: int = LEAST_DECIMALS

    @classmethod
    def of(cls, policy: Policy, dataset: str, question: Question, released: dp.Answer) -> Self:
        """question: as it was admitted."""
        rules = policy.dataset[dataset]
        return cls(
            question,
            released,
            headings(rules, question),
            labels(rules, question),
            decimals_of(policy, dataset, question),
        )

    def in_a_table(self) -> Table:
        released = self.released
        table = Table(
            *self.headings,
            self.question.aggregate,
            f"interval ({released.interval_label})",
            title=Text(visible(self.question.canonical()), style="table.title"),
            caption=f"{cost(released)}; {released.mechanism}, {_scales(released)}; "
            f"at most {released.caps.rows} rows a group, {released.caps.groups} groups a person",
        )
        for group in released.groups:
            low, high = (number(end, self.decimals) for end in group.interval)
            told = (Text(visible(str(part))) for part in self._label(group))
            table.add_row(*told, number(group.value, self.decimals), f"{low} … {high}")
        return table

    def in_json(self) -> dict[str, Any]:
        """Every number as a float; the exact one stands beside it as a fraction."""
        released = self.released
        return {
            "question": self.question.canonical(),
            "epsilon": shown_units(released.nano_epsilon),
            "rho": shown_units(released.nano_rho),
            "delta": show_atto(released.atto_delta),
            "mechanism": released.mechanism,
            "interval_label": released.interval_label,
            "noise": [shown_noise(noise) for noise in released.noise],
            "caps": {"rows_per_unit": released.caps.rows, "groups_per_unit": released.caps.groups},
            "groups": [
                {
                    "group": dict(zip(self.headings, self._label(group), strict=True)),
                    "value": float(group.value),
                    "exact": str(group.value),
                    "interval": [float(bound) for bound in group.interval],
                    "parts": {part.name: float(part.value) for part in group.parts},
                }
                for group in released.groups
            ],
        }

    def _label(self, group: dp.GroupAnswer) -> Label:
        return self.labels[group.group] if group.key is None else (label_of(group.key),)


def number(value: Fraction, decimals: int = LEAST_DECIMALS) -> str:
    """An exact answer in decimals; a whole number has none."""
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.{decimals}f}"


def cost(released: dp.Answer) -> str:
    """What an answer cost one person."""
    rho = released.nano_rho or 0
    return shown_cost(released.nano_epsilon, rho, released.atto_delta)


def shown_price(price: dp.Price) -> str:
    """What an answer costs one person."""
    return shown_cost(price.nano_epsilon, price.nano_rho, price.atto_delta)


def shown_cost(nano_epsilon: int | None, nano_rho: int, atto_delta: int) -> str:
    """An epsilon or, where there is none, a rho; and a delta that is not 0."""
    told = f"rho {dp.show(nano_rho)}" if nano_epsilon is None else f"epsilon {dp.show(nano_epsilon)}"
    return f"{told}, delta {show_atto(atto_delta)}" if atto_delta else told


def decimals_of(policy: Policy, dataset: str, question: Question) -> int:
    """As many as the step of the grid has, and of its square twice as many."""
    bounds = None if question.of is None else policy.dataset[dataset].bounds_of(question.of)
    if bounds is None or bounds.step is None:
        return LEAST_DECIMALS
    own = -int(bounds.step.as_tuple().exponent)
    return max(LEAST_DECIMALS, 2 * own if question.aggregate == "variance" else own)


def _scales(released: dp.Answer) -> str:
    """Of Gaussian noise what is told is its variance."""
    told = ", ".join(f"{noise.part} {float(noise.scale):,.6g}" for noise in released.noise)
    return f"{'scale' if released.nano_rho is None else 'variance'} {told}"


def shown_noise(noise: dp.NoiseScale) -> dict[str, Any]:
    """The noise of a part, for a program."""
    spent = {"epsilon": shown_units(noise.nano_epsilon), "rho": shown_units(noise.nano_rho)}
    return {"part": noise.part, "scale": str(noise.scale), **spent}


def shown_units(nano: int | None) -> str | None:
    """Billionths as a decimal."""
    return None if nano is None else dp.show(nano)
