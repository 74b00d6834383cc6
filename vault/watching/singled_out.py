"""Singled out: a filter, or the difference of two filters, that leaves next to nothing of what the policy declares.

How many rows that is nobody looks: the share is of the declared domain, as if each of its values were as frequent.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import prod
from typing import Final

from vault.expression import Comparison
from vault.policy import Policy
from vault.watching.asked import Asked
from vault.watching.declared_set import allowed, domain_of, share
from vault.watching.neighbours import Neighbours, One, on, without
from vault.watching.thresholds import Thresholds
from vault.watching.warning import Warned, in_words, percent

__all__ = ["different_by_few", "share_of", "singled_out"]

FILTER: Final = "singled-out"
DIFFERENCE: Final = "differ-by-few"
# Ours: with so many questions before it each is compared; with all it would be the square of them.
COMPARED: Final = 100


def singled_out(asked: Iterable[Asked], policy: Policy, thresholds: Thresholds) -> Iterator[Warned]:
    """Of each principal the questions whose own filter does."""
    found: defaultdict[tuple[str, str, tuple[str, ...]], list[tuple[Fraction, One]]] = defaultdict(list)
    for charge in asked:
        for question in charge.questions:
            left = share_of(policy, charge.dataset, question.where)
            if left <= thresholds.single:
                columns = tuple(sorted({condition.column for condition in question.where}))
                found[charge.dataset, charge.principal, columns].append(
                    (left, One(question, question.canonical(), charge))
                )
    for (dataset, who, columns), each in sorted(found.items(), key=lambda one: one[0]):
        texts = tuple(sorted({one.text for _, one in each}))
        least = min(left for left, _ in each)
        yield Warned(
            FILTER,
            dataset,
            (who,),
            f"{who} asked {_questions(len(texts))} of dataset {dataset} whose filter on {in_words(columns)} leaves"
            f" {_at_least(least)} of what is declared: see whether they are about single units",
            len(texts),
            tuple(sorted({one.asked.sequence for _, one in each})),
            texts,
        )


def different_by_few(found: Iterable[Neighbours], policy: Policy, thresholds: Thresholds) -> Iterator[Warned]:
    """Questions of all analysts, neither of which is singled out, and what one of them has and the other has not is."""
    for group in found:
        if group.column is None:
            continue
        pairs = _Pairs(policy, group.dataset, group.column, thresholds.single)
        close = [pair for pair in pairs.of(group.all) if pair.left <= thresholds.single]
        if close:
            texts = {text for pair in close for text in pair.texts}
            asked = (one for one in group.all if one.text in texts)
            both = Neighbours(group.dataset, group.column, tuple(asked))
            yield Warned(
                DIFFERENCE,
                group.dataset,
                both.principals,
                f"{in_words(both.principals)} asked {_questions(len(both.texts))} of dataset {group.dataset} that"
                f" differ by {_at_least(min(pair.left for pair in close))} of what is declared, in their condition on"
                f" {group.column}: see whether one answer is subtracted from another to leave single units",
                len(close),
                both.entries,
                both.texts,
            )


def share_of(policy: Policy, dataset: str, where: Iterable[Comparison]) -> Fraction:
    """Of the declared domain what all conditions leave, as if columns had nothing to do with each other."""
    by_column = groupby(sorted(where, key=lambda one: one.column), key=lambda one: one.column)
    return prod((_share_on(policy, dataset, column, list(each)) for column, each in by_column), start=Fraction(1))


def _share_on(policy: Policy, dataset: str, column: str, conditions: list[Comparison]) -> Fraction:
    domain = domain_of(policy, dataset, column)
    return Fraction(1) if domain is None else share(domain, allowed(domain, conditions))


@dataclass(frozen=True, slots=True)
class _Pair:
    """left: the share of the domain that one of the two has and the other has not."""

    texts: tuple[str, str]
    left: Fraction


@dataclass(frozen=True, slots=True)
class _Pairs:
    policy: Policy
    dataset: str
    column: str
    single: Fraction

    def of(self, questions: tuple[One, ...]) -> Iterator[_Pair]:
        """questions: alike but for the conditions on the column."""
        domain = domain_of(self.policy, self.dataset, self.column)
        if domain is None:
            return
        others = share_of(self.policy, self.dataset, without(questions[0].question, self.column))
        each = {one.text: allowed(domain, on(one.question, self.column)) for one in questions}
        wide = [(text, places) for text, places in each.items() if share(domain, places) * others > self.single]
        for at, (text, places) in enumerate(wide):
            for other, theirs in wide[max(0, at - COMPARED) : at]:
                size = places.without(theirs).size + theirs.without(places).size
                if size:
                    yield _Pair((other, text), Fraction(size, domain.size) * others)


def _at_least(left: Fraction) -> str:
    return "next to nothing" if left < Fraction(1, 10**6) else percent(left)


def _questions(number: int) -> str:
    return "1 question" if number == 1 else f"{number} questions"
