"""Count: how often something happened while something else was done; no time is measured."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Count", "Counted"]


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted, how often it happened, and how often it may."""

    counted: str
    times: int
    target: int


@dataclass(frozen=True, slots=True)
class Count:
    """happened: how often so far. work: what is done meanwhile."""

    name: str
    target: int
    happened: Callable[[], int]
    work: Callable[[], object]

    def run(self) -> list[Counted]:
        before = self.happened()
        self.work()
        return [Counted(self.name, self.happened() - before, self.target)]
