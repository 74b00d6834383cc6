"""Comparison: several ways of doing one thing, timed in turn in one run, each told as a ratio to the first.

The machines that run this are shared: only ratios within one run travel, so the variants take turns, many short
rounds each, and the median round is what is printed.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant's time for one operation, in microseconds, and its ratio to the floor (the first variant)."""

    comparison: str
    variant: str
    median_us: float
    low_us: float
    high_us: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Variants by name, the floor first; each call does `operations` operations."""

    name: str
    variants: Mapping[str, Callable[[], object]]
    operations: int
    rounds: int = 15

    def run(self) -> list[Measured]:
        times: dict[str, list[float]] = {name: [] for name in self.variants}
        for call in self.variants.values():
            call()
        gc.collect()
        gc.disable()  # a collection would land in whichever variant happens to be running
        try:
            for _ in range(self.rounds):
                for name, call in self.variants.items():
                    begin = time.perf_counter()
                    call()
                    times[name].append((time.perf_counter() - begin) / self.operations * 1e6)
        finally:
            gc.enable()
        floor = times[next(iter(self.variants))]
        return [
            Measured(
                self.name,
                name,
                statistics.median(rounds),
                min(rounds),
                max(rounds),
                statistics.median(own / base for own, base in zip(rounds, floor, strict=True)),
            )
            for name, rounds in times.items()
        ]
