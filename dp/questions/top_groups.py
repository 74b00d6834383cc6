"""Top groups: which declared groups have the most rows, and about how many."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dp.answer import INTERVAL_LABEL, GroupAnswer, NoiseScale
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.exact_sum import group_counts
from dp.nano import NANO, show
from dp.price import Price, require_pure
from dp.questions.bounded_rows import OfRows
from dp.questions.mechanisms import Mechanisms
from dp.questions.part import LAPLACE, PERMUTE_AND_FLIP, Part, PartNoise
from dp.questions.question import Aggregates, require_shape


@dataclass(frozen=True, slots=True)
class TopGroups(OfRows):
    """The m declared groups with the most rows, the largest first, each with its noisy count.

    They are chosen one after the other, each time among those not chosen yet, by permute-and-flip on their counts, with
    epsilon floor(eps / (2*m)) a choice; what is left of epsilon is for the counts of those chosen.

    Sensitivity of the counts to choose by c (the largest change of any): a unit has at most c rows in a group after
    bounding, no other unit's rows change when it is added or removed, and its rows only add to counts. So they move one
    way (monotone), and a choice with exponent eps_choice / c costs eps_choice. Which groups are left to choose from is
    known from the choices before. Sensitivity of the m counts that are told c*min(k, m), as in Count: a unit is in k
    groups, of which m at most were chosen.

    A group's answer names it by its index in the declared list. Its interval is of its count; that another group is
    larger is possible, by no more rows than the scale of a choice times ln(20*m*n) in 95 of 100 answers.

    Raises: ParameterError.
    """

    caps: Caps
    m: int
    n_groups: int

    def __post_init__(self) -> None:
        require_shape(self.caps, self.n_groups)
        if type(self.m) is not int or not 1 <= self.m <= self.n_groups:
            raise ParameterError("m", "choose at least one group, and at most as many as are declared")

    @property
    def interval_label(self) -> str:
        return INTERVAL_LABEL

    def mechanism(self, price: Price) -> str:
        require_pure(price)
        return f"{PERMUTE_AND_FLIP}, {LAPLACE}"

    def a_choice(self, price: Price) -> int:
        """The nano-epsilon of each of the m choices. Raises: ParameterError."""
        each = require_pure(price) // (2 * self.m)
        if each == 0:
            raise ParameterError(
                "epsilon", f"it is shared by {self.m} choices and their counts; ask with {show(2 * self.m)} or more"
            )
        return each

    def of_counts(self, price: Price) -> PartNoise:
        """The noise on the counts of those chosen, with what the choices leave. Raises: ParameterError."""
        left = require_pure(price) - self.m * self.a_choice(price)
        return PartNoise.of(Part("count", self.caps.rows, min(self.caps.groups, self.m)), Price.pure(left))

    def noise(self, price: Price) -> tuple[NoiseScale, ...]:
        each = self.a_choice(price)
        choice = NoiseScale("choice", Fraction(self.caps.rows * NANO, each), self.m * each)
        return (choice, self.of_counts(price).told())

    def aggregate(self, bounded: Bounded) -> Aggregates:
        return Aggregates((group_counts(bounded.group, self.n_groups),))

    def release(self, aggregates: Aggregates, price: Price, mechanisms: Mechanisms) -> tuple[GroupAnswer, ...]:
        (counts,) = aggregates.totals
        exponent, noise = Fraction(self.a_choice(price), NANO * self.caps.rows), self.of_counts(price)
        scores, left, chosen = np.array(counts, dtype=np.int64), list(range(self.n_groups)), list[int]()
        for _ in range(self.m):
            chosen.append(left.pop(mechanisms.best(scores[left], exponent)))
        noisy = noise.add([counts[group] for group in chosen], mechanisms)
        return tuple(
            GroupAnswer(group, Fraction(count), (Fraction(low), Fraction(high)))
            for group, count in zip(chosen, noisy, strict=True)
            for low, high in (noise.around(count),)
        )
