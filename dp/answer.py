"""An answer: noisy values, and all that a reader may know of how they were made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

from dp.bounding import Caps
from dp.errors import AnswerFormatError, ParameterError

FORMAT: Final = "noisevault/1 answer"
MECHANISM: Final = "discrete Laplace"
INTERVAL_LABEL: Final = "noise only, 95 %"


@dataclass(frozen=True, slots=True)
class NoiseScale:
    """The noise on one part of an answer.

    scale: of the discrete Laplace, in the unit of the part's value. nano_epsilon: the share of epsilon it spends.
    """

    part: str
    scale: Fraction
    nano_epsilon: int


@dataclass(frozen=True, slots=True)
class PartValue:
    """One released number of a question that has several, such as a mean's count. It may be negative."""

    name: str
    value: Fraction


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """The noisy value of one declared group.

    group: its index in the declared list. interval: holds the value without noise in 95 of 100 answers; it knows
    nothing of sampling, of clamping to the bounds or of rows above the caps.
    """

    group: int
    value: Fraction
    interval: tuple[Fraction, Fraction]
    parts: tuple[PartValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One released answer: pure epsilon (delta 0), signed, with every declared group, the empty ones too.

    question: its label. caps: how much of one unit was counted. groups: in the declared order.
    """

    question: str
    nano_epsilon: int
    caps: Caps
    noise: tuple[NoiseScale, ...]
    groups: tuple[GroupAnswer, ...]
    mechanism: str = MECHANISM
    delta: int = 0
    interval_label: str = INTERVAL_LABEL

    def to_json(self) -> bytes:
        """The one canonical form: ASCII, sorted keys, no blanks, fractions as "p/q". Equal answers, equal bytes."""
        return json.dumps(
            {
                "format": FORMAT,
                "question": self.question,
                "mechanism": self.mechanism,
                "nano_epsilon": self.nano_epsilon,
                "delta": self.delta,
                "interval": self.interval_label,
                "caps": {"rows": self.caps.rows, "groups": self.caps.groups},
                "noise": [[n.part, _text(n.scale), n.nano_epsilon] for n in self.noise],
                "groups": [
                    [g.group, _text(g.value), *map(_text, g.interval), [[p.name, _text(p.value)] for p in g.parts]]
                    for g in self.groups
                ],
            },
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=True,
        ).encode("ascii")

    @classmethod
    def from_json(cls, stored: bytes) -> Self:
        """The answer of which to_json() gives exactly these bytes.

        Raises: AnswerFormatError for any other bytes.
        """
        try:
            answer = cls._from_fields(json.loads(stored))
            same = answer.to_json() == stored
        except (ParameterError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RecursionError):
            same = False
        if not same:
            raise AnswerFormatError("these bytes are not an answer in canonical form; restore them from a backup")
        return answer

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Self:
        return cls(
            question=fields["question"],
            mechanism=fields["mechanism"],
            nano_epsilon=fields["nano_epsilon"],
            delta=fields["delta"],
            interval_label=fields["interval"],
            caps=Caps(rows=fields["caps"]["rows"], groups=fields["caps"]["groups"]),
            noise=tuple(NoiseScale(part, Fraction(scale), nano) for part, scale, nano in fields["noise"]),
            groups=tuple(
                GroupAnswer(
                    group,
                    Fraction(value),
                    (Fraction(low), Fraction(high)),
                    tuple(PartValue(name, Fraction(part)) for name, part in parts),
                )
                for group, value, low, high, parts in fields["groups"]
            ),
        )


def _text(number: Fraction) -> str:
    return f"{number.numerator}/{number.denominator}"
