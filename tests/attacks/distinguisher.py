"""A distinguisher: who knows all but one person's rows tells from noisy counts whether that person is there.

It is the best there is: by Neyman and Pearson, the sum of what each answer says for and against, by the noise's own
distribution, against a threshold. Where all answers together cost epsilon, no test of any kind may be right about the
person's presence with probability TPR, and wrong about the absence with FPR, so that TPR > e^epsilon FPR, or
TPR - FPR > (e^epsilon - 1) / (e^epsilon + 1) (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, theorem 2.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tests.attacks.world import Answered

# Of the confidence limits of one run: how often each may be wrong.
CONFIDENCE = 1e-6


@dataclass(frozen=True)
class Counts:
    """What an answer would be without noise, without the person and with them."""

    without: int
    with_person: int


@dataclass(frozen=True)
class Rates:
    """How often it said "there" of a person who is, and of one who is not, in so many trials each."""

    there: int
    not_there: int
    trials: int

    @property
    def gain(self) -> float:
        return (self.there - self.not_there) / self.trials

    def exceeds(self, epsilon: float) -> str:
        """Why no epsilon-private answers can have given it, with confidence; empty if they can have."""
        least, most = _low(self.there, self.trials), _high(self.not_there, self.trials)
        least_not, most_not = (
            _low(self.trials - self.not_there, self.trials),
            _high(self.trials - self.there, self.trials),
        )
        if least - most > (exp(epsilon) - 1) / (exp(epsilon) + 1):
            return f"a gain of {self.gain:.3f} is above that of epsilon {epsilon:g}"
        if least > exp(epsilon) * most or least_not > exp(epsilon) * most_not:
            return f"rates {self.there} and {self.not_there} of {self.trials} are further apart than e^{epsilon:g}"
        return ""


def told_apart(absent: Sequence[Answered], present: Sequence[Answered], exact: Sequence[Counts]) -> dict[str, Rates]:
    """By the threshold that gains most, and by the one that is hardly ever wrong. exact: of each answer in order."""
    against, for_it = (_evidence(answers, exact) for answers in (absent, present))
    most = sum(
        abs(counts.with_person - counts.without) / float(answer.scale)
        for answer, counts in zip(present, exact, strict=True)
    )
    thresholds = {"most gain": 0.0, "hardly wrong": most * (1 - 1e-9)}
    return {
        name: Rates(int((for_it > limit).sum()), int((against > limit).sum()), len(for_it))
        for name, limit in thresholds.items()
    }


def _evidence(answers: Sequence[Answered], exact: Sequence[Counts]) -> NDArray[np.float64]:
    """The logarithm of the ratio of likelihoods, of each trial."""
    total = np.zeros(len(answers[0].values))
    for answer, counts in zip(answers, exact, strict=True):
        values = np.array(answer.values, dtype=np.float64)
        total += (np.abs(values - counts.without) - np.abs(values - counts.with_person)) / float(answer.scale)
    return total


def _low(successes: int, trials: int) -> float:
    """Clopper and Pearson's."""
    return float(beta.ppf(CONFIDENCE, successes, trials - successes + 1)) if successes else 0.0


def _high(successes: int, trials: int) -> float:
    return float(beta.ppf(1 - CONFIDENCE, successes + 1, trials - successes)) if successes < trials else 1.0
