"""Without noise: the mechanisms with nothing random in them, to look at what an answer is before the noise."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dp
from dp.questions.question import release_by
from vault.bridge import chunks, scan_of
from vault.ledger_keys import tie_break_salt
from vault.project import Project
from vault.question import admit, parse
from vault.translation import dp_question, price_of


class WithoutNoise:
    """Satisfies dp's Mechanisms."""

    def laplace(self, totals: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        return tuple(totals)

    def gaussian(self, totals: Sequence[int], variance: Fraction) -> tuple[int, ...]:
        return tuple(totals)

    def best(self, scores: NDArray[np.int64], exponent: Fraction) -> int:
        return int(np.argmax(scores))

    def reaching(self, counts: Mapping[bytes, int], scale: Fraction, threshold: int) -> dict[bytes, int]:
        return {key: counts[key] for key in sorted(counts) if counts[key] >= threshold}


def released_without_noise(project: Project, dataset: str, text: str) -> dp.Answer:
    """What the text asks of the dataset, through the whole path but the ledger and the noise."""
    question, rules = admit(parse(text), project.policy, dataset), project.policy.dataset[dataset]
    asked, salt = dp_question(project.policy, dataset, question), tie_break_salt(project.opened.keyring, dataset)
    scan = scan_of(project, dataset, question, project.opened.keyring.warm())
    bounded = asked.bound(chunks(scan, project.policy, rules, question, salt), salt)
    price = price_of(rules, question, 10**9)
    return release_by(asked, question.canonical(), asked.aggregate(bounded), price, WithoutNoise())


def values_without_noise(project: Project, dataset: str, text: str) -> list[Fraction]:
    """The value of each group of that answer."""
    return [group.value for group in released_without_noise(project, dataset, text).groups]
