"""Broken ways of asking, in the place of the right one: an attack that does not notice them proves nothing."""

from dataclasses import replace
from typing import Any

import dp
from dp.ask import ask, charged_once, compute, full_parameters
from dp.last_moment import NO_LAST_MOMENT
from dp.ledger import Ledger
from dp.noise.random_source import OperatingSystemRandom
from dp.request import Request


def ask_with_half_of_the_noise(
    ledger: Ledger, request: Request, question: Any, read: Any, *, salt: bytes, **_: Any
) -> dp.Answer:
    """Charges what was asked for, and draws the noise of twice as much."""
    twice = replace(request, price=dp.Price.pure(2 * (request.price.nano_epsilon or 0)))
    return charged_once(
        ledger,
        replace(request, parameters=full_parameters(request, question)),
        lambda: compute(twice, question, read, salt, OperatingSystemRandom()).to_json(),
        dp.Answer.from_json,
        NO_LAST_MOMENT,
    )


class EverySecondForNothing:
    """Does not charge every second question."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(
        self, ledger: Ledger, request: Request, question: Any, read: Any, *, salt: bytes, **_: Any
    ) -> dp.Answer:
        self.asked += 1
        if self.asked % 2:
            return ask(ledger, request, question, read, salt=salt)
        return compute(request, question, read, salt, OperatingSystemRandom())
