"""An answer: noisy values, and all that a reader may know of how they were made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

from dp.caps import Caps
from dp.errors import AnswerFormatError, ParameterError

FORMAT: Final = "noisevault/1 answer"
MECHANISM: Final = "discrete Laplace"
INTERVAL_LABEL: Final = "noise only, 95 %"
RANK_LABEL: Final = "rows of rank, noise only, 95 %"


@dataclass(frozen=True, slots=True)
class NoiseScale:
    """The noise on one part of an answer, and the share of the price that it spends.

    scale: of the discrete Laplace, in the unit of the part's value; of the discrete Gaussian its variance (sigma
    squared), in that unit squared; of a choice by permute-and-flip, 1 / exponent, in rows.
    nano_epsilon: None for Gaussian noise, which has nano_rho in its place.
    """

    part: str
    scale: Fraction
    nano_epsilon: int | None
    nano_rho: int | None = None

    @property
    def fields(self) -> list[str | int | None]:
        """As it is stored; rho only where it is all there is."""
        pure = [self.part, _text(self.scale), self.nano_epsilon]
        return pure if self.nano_rho is None else [*pure, self.nano_rho]


@dataclass(frozen=True, slots=True)
class PartValue:
    """One released number of a question that has several, such as a mean's count. It may be negative."""

    name: str
    value: Fraction


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """The noisy value of one group.

    group: its index in the declared list. interval: holds the value without noise in 95 of 100 answers; it knows
    nothing of sampling, of clamping to the bounds or of rows above the caps. Where the answer's label speaks of rank,
    it is of ranks and not of values. key: of a group that nobody declared, with group its place in this answer.
    """

    group: int
    value: Fraction
    interval: tuple[Fraction, Fraction]
    parts: tuple[PartValue, ...] = ()
    key: bytes | None = None

    @property
    def fields(self) -> list[object]:
        """As it is stored; a key, in hexadecimal digits, only where there is one."""
        parts = [[part.name, _text(part.value)] for part in self.parts]
        declared = [self.group, _text(self.value), *map(_text, self.interval), parts]
        return declared if self.key is None else [*declared, self.key.hex()]


@dataclass(frozen=True, slots=True)
class Answer:
    """One released answer, signed, with every declared group, the empty ones too.

    question: its label. caps: how much of one unit was counted. groups: in the declared order; of the largest groups
    in the order in which they were chosen, of groups that nobody declared by their keys.
    What it cost: nano_epsilon in units of 1e-9, with atto_delta in units of 1e-18 where it is not 0; or, of Gaussian
    noise, which has no epsilon, nano_rho in units of 1e-9.
    """

    question: str
    nano_epsilon: int | None
    caps: Caps
    noise: tuple[NoiseScale, ...]
    groups: tuple[GroupAnswer, ...]
    mechanism: str = MECHANISM
    atto_delta: int = 0
    interval_label: str = INTERVAL_LABEL
    nano_rho: int | None = None

    @property
    def fields(self) -> dict[str, object]:
        """As it is stored, by name."""
        fields: dict[str, object] = {
            "format": FORMAT,
            "question": self.question,
            "mechanism": self.mechanism,
            "nano_epsilon": self.nano_epsilon,
            "delta": self.atto_delta,
            "interval": self.interval_label,
            "caps": {"rows": self.caps.rows, "groups": self.caps.groups},
            "noise": [noise.fields for noise in self.noise],
            "groups": [group.fields for group in self.groups],
        }
        if self.nano_rho is not None:
            fields["nano_rho"] = self.nano_rho
        return fields

    def to_json(self) -> bytes:
        """The one canonical form: ASCII, sorted keys, no blanks, fractions as "p/q". Equal answers, equal bytes."""
        return json.dumps(self.fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

    @classmethod
    def from_json(cls, stored: bytes) -> Self:
        """The answer of which to_json() gives exactly these bytes.

        Raises: AnswerFormatError for any other bytes.
        """
        try:
            answer = cls.from_fields(json.loads(stored))
            same = answer.to_json() == stored
        except (ParameterError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RecursionError):
            same = False
        if not same:
            raise AnswerFormatError("these bytes are not an answer in canonical form; restore them from a backup")
        return answer

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Checked by comparing what it would write, as from_json() does. Raises: whatever does not fit."""
        return cls(
            question=fields["question"],
            mechanism=fields["mechanism"],
            nano_epsilon=fields["nano_epsilon"],
            atto_delta=fields["delta"],
            interval_label=fields["interval"],
            nano_rho=fields.get("nano_rho"),
            caps=Caps(rows=fields["caps"]["rows"], groups=fields["caps"]["groups"]),
            noise=tuple(NoiseScale(part, Fraction(scale), *spent) for part, scale, *spent in fields["noise"]),
            groups=tuple(
                GroupAnswer(
                    group,
                    Fraction(value),
                    (Fraction(low), Fraction(high)),
                    tuple(PartValue(name, Fraction(part)) for name, part in parts),
                    *map(bytes.fromhex, key),
                )
                for group, value, low, high, parts, *key in fields["groups"]
            ),
        )


def _text(number: Fraction) -> str:
    return f"{number.numerator}/{number.denominator}"
