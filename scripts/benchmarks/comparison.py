"""Comparison: several ways of doing one thing, timed in turn in one run, each told as a ratio to the first.

The machines that run this are shared: only ratios within one run travel, so the variants take turns, many short
rounds each, in processor time where one process does all the work, and the median round and the fastest are printed.
"""

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Comparison", "Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant's time for one operation, in microseconds, and its ratio to the first variant.

    ratio: the median of the rounds' ratios. low_ratio: that of the fastest rounds, for a machine that is not quiet.
    processor_us, processor_ratio: the lowest processor time, and its ratio; others on the machine hardly change those.
    own_us, own_ratio: the low and its ratio when the low of the comparison's base is taken away from each.
    """

    comparison: str
    variant: str
    median_us: float
    low_us: float
    high_us: float
    ratio: float
    low_ratio: float
    own_us: float | None = None
    own_ratio: float | None = None
    processor_us: float | None = None
    processor_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Variants by name, the first being what the others are measured by; each call does `operations` operations.

    operations: of a call of any variant, or by the variant's name.
    prepare: called, untimed, before each call.
    base: the variant, not the first, that does the same without what is compared.
    clock: gives the seconds that a round is timed in, by default what this process has worked.
    processor: gives the seconds that all processes have worked for it, told beside the clock's.
    collecting: leave the garbage collector on, as in an application; for rounds long enough to hold many collections.
    """

    name: str
    variants: Mapping[str, Callable[[], object]]
    operations: int | Mapping[str, int]
    rounds: int = 15
    prepare: Callable[[], object] = lambda: None
    base: str | None = None
    collecting: bool = False
    clock: Callable[[], float] = time.process_time
    processor: Callable[[], float] | None = None

    def run(self) -> list[Measured]:
        times: dict[str, list[float]] = {name: [] for name in self.variants}
        worked: dict[str, float] = dict.fromkeys(self.variants, math.inf)
        processor = self.processor or (lambda: 0.0)
        for call in self.variants.values():
            self.prepare()
            call()
        gc.collect()
        if not self.collecting:
            gc.disable()  # a collection would land in whichever variant happens to be running
        try:
            for _ in range(self.rounds):
                for name, call in self.variants.items():
                    self.prepare()
                    if self.collecting:
                        gc.collect()
                    began_work, begin = processor(), self.clock()
                    call()
                    times[name].append((self.clock() - begin) / self._operations(name) * 1e6)
                    worked[name] = min(worked[name], (processor() - began_work) / self._operations(name) * 1e6)
        finally:
            gc.enable()
        return [self._measured(name, times, worked) for name in times]

    def _operations(self, name: str) -> int:
        return self.operations if isinstance(self.operations, int) else self.operations[name]

    def _measured(self, name: str, times: Mapping[str, list[float]], worked: Mapping[str, float]) -> Measured:
        rounds, first = times[name], next(iter(times.values()))
        ratio = statistics.median(own / other for own, other in zip(rounds, first, strict=True))
        own_us = own_ratio = None
        if self.base is not None and name != self.base:
            own_us = min(rounds) - min(times[self.base])
            own_ratio = own_us / (min(first) - min(times[self.base]))
        return Measured(
            self.name,
            name,
            statistics.median(rounds),
            min(rounds),
            max(rounds),
            ratio,
            min(rounds) / min(first),
            own_us,
            own_ratio,
            *((worked[name], worked[name] / next(iter(worked.values()))) if self.processor else ()),
        )
