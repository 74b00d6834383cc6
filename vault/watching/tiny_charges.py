"""Tiny charges: somebody asks many questions at prices that are next to nothing, all of which add up."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby

import dp
from dp.accounting.either_rule import Limits
from vault.duration import show_exactly
from vault.policy import DatasetPolicy
from vault.watching.asked import Asked
from vault.watching.thresholds import Thresholds
from vault.watching.warning import Warned, percent

__all__ = ["tiny_charges"]

CODE = "tiny-charges"


def tiny_charges(
    asked: Iterable[Asked], datasets: Mapping[str, DatasetPolicy], thresholds: Thresholds
) -> Iterator[Warned]:
    """Of each principal the time within which there were most, when there were enough. asked: in order."""
    tiny = [one for one in asked if _is_tiny(one, datasets[one.dataset], thresholds.tiny)]
    within = round(thresholds.tiny_within.total_seconds() * 10**6)
    for (dataset, who), each in groupby(sorted(tiny, key=_whose), key=lambda one: (one.dataset, one.principal)):
        most = _most_within(sorted(each, key=lambda one: one.at), within)
        if len(most) >= thresholds.tiny_count:
            together = dp.show(sum(one.nano_epsilon or 0 for one in most))
            yield Warned(
                CODE,
                dataset,
                (who,),
                f"{who} asked {len(most)} questions of dataset {dataset} within"
                f" {show_exactly(thresholds.tiny_within)}, each for at most {percent(thresholds.tiny)} of its lifetime,"
                f" epsilon {together} together: see whether they are one question in many forms",
                len(most),
                tuple(sorted(one.sequence for one in most)),
                tuple(sorted({question.canonical() for one in most for question in one.questions})),
            )


def _whose(one: Asked) -> tuple[str, str, int]:
    return one.dataset, one.principal, one.sequence


def _is_tiny(one: Asked, rules: DatasetPolicy, share: Fraction) -> bool:
    """Of what has no epsilon, by the sum of rho that the lifetime allows."""
    if one.nano_epsilon is not None:
        return one.nano_epsilon <= share * rules.lifetime_nano
    return one.nano_rho <= share * Limits.of(rules.lifetime_nano, rules.lifetime_atto_delta).nano_rho


def _most_within(each: list[Asked], within: int) -> list[Asked]:
    """Of a window of time that moves over all of them the fullest."""
    first, best = 0, (0, 0)
    for last, one in enumerate(each):
        while one.at - each[first].at >= within:
            first += 1
        best = max(best, (last + 1 - first, -first))
    length, first = best[0], -best[1]
    return each[first : first + length]
