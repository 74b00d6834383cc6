"""Sum, average and group a million floats that are in memory, with noise, against numpy without any; no bounding."""

from collections.abc import Callable, Iterator

import numpy as np

from dp.caps import Caps
from dp.grid import Grid
from dp.nano import NANO
from dp.price import Price
from dp.promised_rows import PromisedRows
from dp.questions.mean import Mean
from dp.questions.question import release
from dp.questions.sum import Sum
from scripts.benchmarks.comparison import Comparison

ROWS = 1_000_000
GROUPS = 1000
GRID = Grid.of("0", "100", "0.01", values="float")


def comparisons() -> Iterator[Comparison]:
    values = np.random.default_rng(1).uniform(-10, 110, ROWS)
    group = np.random.default_rng(2).integers(0, GROUPS, ROWS).astype(np.int32)

    def asked(question: Sum | Mean, rows: PromisedRows) -> Callable[[], object]:
        return lambda: release(question, "", question.aggregate_promised(rows), Price.pure(NANO))

    variants: dict[str, Callable[[], object]] = {
        "numpy clip and sum": lambda: np.clip(values, 0, 100).sum(),
        "dp, sum": asked(Sum(Caps(1), GRID), PromisedRows(values)),
        "dp, mean": asked(Mean(Caps(1), GRID), PromisedRows(values)),
    }
    yield Comparison("a million floats", variants, operations=1, rounds=15)
    grouped: dict[str, Callable[[], object]] = {
        "numpy clip and bincount": lambda: np.bincount(group, weights=np.clip(values, 0, 100), minlength=GROUPS),
        "numpy bincount, without clip": lambda: np.bincount(group, weights=values, minlength=GROUPS),
        "dp, sum by group": asked(Sum(Caps(1), GRID, GROUPS), PromisedRows(values, group)),
        "dp, mean by group": asked(Mean(Caps(1), GRID, GROUPS), PromisedRows(values, group)),
    }
    yield Comparison("a million floats in 1,000 groups", grouped, operations=1, rounds=15)
