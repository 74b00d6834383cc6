"""Record and replay: what one unit can change of all that a question asks its mechanisms, without sampling anything.

A question is answered on D, and every call of a mechanism is written down with what it gave. Then it is answered on the
neighbour D', and each mechanism gives what it gave before. Since the noise is frozen, the calls must be the same, with
the same public parameters, and the answer must be the same to the last bit: whatever differs was taken from the data
past the mechanisms. How far the secret numbers of each call lie apart says, by its public parameters, how much privacy
it lost; together that must be within the price.

Source: the re:cord-play method, 2026, arXiv:2602.17454.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, exp, isqrt
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp.nano import NANO
from dp.price import ATTO, Price
from dp.questions.mechanisms import Mechanisms
from dp.questions.question import Aggregates, Question, release_by
from tests.dp.rows import SALT, Row, chunk_of


@dataclass
class Loss:
    """What two datasets lost to each other: of pure calls epsilon, of Gaussian ones rho, of thresholds delta."""

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: float = 0.0

    def is_within(self, price: Price) -> bool:
        rho = self.rho + self.epsilon**2 / 2
        if price.nano_epsilon is None:
            return self.delta == 0 and rho * NANO <= price.nano_rho
        epsilon = self.rho == 0 and self.epsilon * NANO <= price.nano_epsilon
        return epsilon and self.delta * ATTO <= price.atto_delta and rho * NANO <= price.nano_rho


@dataclass(frozen=True)
class Call:
    """One use of a mechanism. public: what must be the same on a neighbour."""

    public: tuple[object, ...]
    secret: Any
    given: Any


@dataclass
class AnyNoise:
    """Mechanisms that give anything, since what was given may be anything: wide noise, candidates far from the best."""

    random: Random

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        return tuple(
            total + round(self.random.choice([0, 1, 5]) * Fraction(self.random.gauss(0, 1)) * scale) for total in totals
        )

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:
        return self.laplace(totals, Fraction(isqrt(ceil(variance))))

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:
        return self.random.choice([int(np.argmax(scores)), self.random.randrange(len(scores))])

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:
        return {key: threshold + self.random.randrange(9) for key in sorted(counts) if self.random.random() < 0.5}


@dataclass
class Recorder:
    """Hands calls on to other mechanisms and writes them down."""

    mechanisms: Mechanisms
    calls: list[Call] = field(default_factory=list)

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        given = self.mechanisms.laplace(totals, scale)
        self.calls.append(Call(("laplace", len(totals), scale), tuple(totals), given))
        return given

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:
        given = self.mechanisms.gaussian(totals, variance)
        self.calls.append(Call(("gaussian", len(totals), variance), tuple(totals), given))
        return given

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:
        given = self.mechanisms.best(scores, exponent)
        self.calls.append(Call(("best", len(scores), exponent), scores.tolist(), given))
        return given

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:
        given = self.mechanisms.reaching(counts, scale, threshold)
        self.calls.append(Call(("reaching", scale, threshold), dict(counts), given))
        return given


@dataclass
class Replayer:
    """Gives what was given before, and adds up what the difference costs."""

    calls: list[Call]
    loss: Loss = field(default_factory=Loss)

    def _next(self, *public: object) -> Call:
        assert self.calls, "the neighbour asks the mechanisms for more"
        call = self.calls.pop(0)
        assert call.public == public, "the neighbour asks the mechanisms for something else"
        return call

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        call = self._next("laplace", len(totals), scale)
        self.loss.epsilon += sum(abs(a - b) for a, b in zip(call.secret, totals, strict=True)) / scale
        return call.given  # type: ignore[no-any-return]

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:
        call = self._next("gaussian", len(totals), variance)
        self.loss.rho += sum((a - b) ** 2 for a, b in zip(call.secret, totals, strict=True)) / (2 * variance)
        return call.given  # type: ignore[no-any-return]

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:
        call = self._next("best", len(scores), exponent)
        moved = [a - b for a, b in zip(call.secret, scores.tolist(), strict=True)]
        self.loss.epsilon += (max(moved) - min(moved)) * exponent  # what all scores have in common changes nothing
        return call.given  # type: ignore[no-any-return]

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:
        call = self._next("reaching", scale, threshold)
        mine, others = dict(counts), call.secret
        assert all(count > 0 for count in (*mine.values(), *others.values()))
        lone = mine.keys() ^ others.keys()
        assert all({**mine, **others}[key] == 1 for key in lone), "a key that one unit has was counted more than once"
        moved = sum(abs(mine.get(key, 0) - others.get(key, 0)) for key in mine.keys() | others.keys())
        self.loss.epsilon += moved / scale
        a = exp(-1 / scale)
        self.loss.delta += (1 - (1 - a ** (threshold - 1) / (1 + a)) ** len(lone)) * (1 - 1e-9)
        return call.given  # type: ignore[no-any-return]


def aggregates_of(question: Question, rows: list[Row], *, floats: bool = True) -> Aggregates:
    return question.aggregate(question.bound([chunk_of(rows, floats=floats)], SALT))


def loss_between(question: Question, one: Aggregates, other: Aggregates, price: Price, seed: int = 5) -> Loss:
    """Record on the one, replay on the other. The answers must be the same."""
    recorder = Recorder(AnyNoise(Random(seed)))
    recorded = release_by(question, "", one, price, recorder)
    replayer = Replayer(recorder.calls)
    assert release_by(question, "", other, price, replayer).to_json() == recorded.to_json()
    assert not replayer.calls, "the neighbour asks the mechanisms for less"
    return replayer.loss


def losses(
    question: Question, rows: list[Row], price: Price, *, floats: bool = True, seed: int = 5, units: int = 20
) -> list[Loss]:
    """Of each unit, removed or added in turn. units: with a number from this on they are only company."""
    whole = aggregates_of(question, rows, floats=floats)
    lost = []
    for unit in sorted({row.unit for row in rows if row.unit < units}):
        without = aggregates_of(question, [row for row in rows if row.unit != unit], floats=floats)
        one, other = (whole, without) if (unit + seed) % 2 else (without, whole)
        lost.append(loss_between(question, one, other, price, seed))
    return lost


def assert_private(question: Question, rows: list[Row], price: Price, *, floats: bool = True, seed: int = 5) -> None:
    """No unit, removed or added, loses more than the price."""
    for loss in losses(question, rows, price, floats=floats, seed=seed):
        assert loss.is_within(price), f"{loss} is more than {price}"
