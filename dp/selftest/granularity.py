"""Granularity: answers lie on the step that the policy declares, whatever the values, down to the last bit."""

from collections.abc import Iterator
from fractions import Fraction
from math import inf
from typing import Final

import numpy as np

from dp.caps import Caps
from dp.chunk import Chunk
from dp.grid import Grid
from dp.nano import NANO
from dp.noise.random_source import RandomSource
from dp.price import Price
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import release_by
from dp.questions.sum import Sum
from dp.selftest.finding import Finding, judged

_STEP: Final = Fraction(1, 2**20)
_GROUPS: Final = 500
_VALUES: Final = (0.0, 1.0, 0.1, 1 / 3, 1e-300, inf)


def granularity(random: RandomSource) -> Iterator[Finding]:
    """Sums of one value each, with noise: how many of them are no multiple of the step, exactly and as a float."""
    question = Sum(Caps(1), Grid(_STEP, -(2**21), 2**21), _GROUPS)
    group = np.arange(_GROUPS, dtype=np.int32)
    for value in _VALUES:
        chunk = Chunk(group.astype(np.int64), group, group.astype(np.uint64), np.full(_GROUPS, value))
        aggregates = question.aggregate(question.bound([chunk], b"self-test"))
        answers = release_by(question, "self-test", aggregates, Price.pure(NANO), RandomMechanisms(random)).groups
        off = sum((Fraction(form) / _STEP).denominator != 1 for a in answers for form in (a.value, float(a.value)))
        yield judged(f"sums of {value:g} with noise: off the step of 2**-20", off, right=off == 0)
