"""A plan: what a batch of questions costs, asked one by one or declared in advance as one charge.

Of a batch that is declared in advance the accountants stand side by side: the plain sum of epsilon, the bound of
Kairouz, Oh and Viswanath (KOV), and the sum of rho and what it converts to. The finer ones need a delta, and do not
help below about 20 questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dp.accounting.concentrated import MAX_NANO_RHO, epsilon_of
from dp.accounting.either_rule import Limits, Spent
from dp.accounting.kov import kov_epsilon
from dp.epsilon import MAX_NANO_EPSILON
from dp.errors import ParameterError
from dp.nano import show, show_atto
from dp.price import ATTO, Price, require_price

# Ours: as many as kov_epsilon() adds up in about a second.
MAX_QUESTIONS: Final = 10_000
# Ours: a twentieth less is not worth a delta.
WORTH_IT: Final = Fraction(19, 20)


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch under each accountant; epsilon and rho in units of 1e-9, delta in units of 1e-18.

    sums: of the questions' own prices. pure_sum, kov: None where a question has no epsilon. concentrated: what the sum
    of rho converts to, None without a delta. atto_delta: what kov and concentrated were allowed beside the questions'
    own deltas.
    """

    questions: int
    sums: Spent
    atto_delta: int
    pure_sum: int | None
    kov: int | None
    concentrated: int | None

    @property
    def helps(self) -> bool:
        """Whether declaring the batch costs noticeably less epsilon than the plain sum."""
        return self.kov is not None and self.pure_sum is not None and self.kov <= WORTH_IT * self.pure_sum

    @property
    def price(self) -> Price:
        """Of the batch as one charge: its KOV bound and that bound's delta where it helps, and the sum of rho.

        Raises: ParameterError when its deltas reach 1.
        """
        if self.helps:
            return Price(self.kov, self.sums.nano_rho, self.sums.atto_delta + self.atto_delta)
        return Price(self.pure_sum, self.sums.nano_rho, self.sums.atto_delta)

    @property
    def advice(self) -> str:
        """In one sentence, what the finer accountants are worth here."""
        delta = show_atto(self.atto_delta)
        if self.pure_sum is None:
            return "A question without an epsilon is among them: only the sum of rho, by a lifetime_delta, bounds them."
        if self.atto_delta == 0:
            return "Without a delta only the sum of epsilon counts; the finer accountants need one."
        if self.kov is None or not self.helps:
            return (
                f"The finer accountants do not help here: {self.questions} questions cost about the plain sum,"
                f" epsilon {show(self.pure_sum)}, at delta {delta} too; they begin to help at about 20 questions."
            )
        return (
            f"Declared in advance as one batch, the questions cost epsilon {show(self.kov)} at delta {delta}"
            f" in place of {show(self.pure_sum)}."
        )

    def fits_one_by_one(self, limits: Limits, spent: Spent) -> bool:
        """Whether the lifetime would allow all of them, asked one after the other in any order."""
        return spent.adding(self.sums).within(limits)

    def fits_as_batch(self, limits: Limits, spent: Spent) -> bool:
        """Whether the lifetime would allow them as one charge."""
        return spent.plus(self.price).within(limits)


def plan(prices: Sequence[Price], atto_delta: int) -> Plan:
    """What the questions with these prices cost together.

    atto_delta: what the batch may use beside the questions' own deltas, in units of 1e-18; 0 for none.
    Raises: ParameterError for no question or more than 10,000, for a delta that is none, and for prices beyond use.
    """
    if not 1 <= len(prices) <= MAX_QUESTIONS:
        raise ParameterError("prices", f"a batch has from 1 to {MAX_QUESTIONS} questions")
    if type(atto_delta) is not int or not 0 <= atto_delta < ATTO:
        raise ParameterError("atto_delta", "it must be an int from 0 to 10**18 - 1")
    sums = Spent()
    for price in prices:
        sums = sums.plus(require_price(price))
    if sums.nano_epsilon > MAX_NANO_EPSILON or sums.nano_rho > MAX_NANO_RHO:
        raise ParameterError("prices", "together they protect nobody; ask less, or at smaller prices")
    epsilons = [price.nano_epsilon for price in prices if price.nano_epsilon is not None]
    bounded = not sums.unbounded
    return Plan(
        questions=len(prices),
        sums=sums,
        atto_delta=atto_delta,
        pure_sum=sums.nano_epsilon if bounded else None,
        kov=max(1, kov_epsilon(epsilons, atto_delta)) if bounded else None,
        concentrated=epsilon_of(sums.nano_rho, atto_delta) if atto_delta else None,
    )
