"""The mean of a million floats that are in memory, with noise, of the library and of three others."""

import os
from collections.abc import Callable, Iterator

os.environ.setdefault("RUST_BACKTRACE", "0")  # OpenDP would set it, at a cost that is not its sum's

import numpy as np
import opendp.prelude as opendp
from diffprivlib.tools import mean as diffprivlib_mean
from pydp.algorithms.laplacian import BoundedMean

from dp.caps import Caps
from dp.grid import Grid
from dp.nano import NANO
from dp.price import Price
from dp.promised_rows import PromisedRows
from dp.questions.mean import Mean
from dp.questions.question import release
from scripts.benchmarks.comparison import Comparison

ROWS = 1_000_000
GRID = Grid.of("0", "100", "0.01", values="float")


def comparisons() -> Iterator[Comparison]:
    opendp.enable_features("contrib")
    values = np.random.default_rng(1).uniform(-10, 110, ROWS)
    question, rows = Mean(Caps(1), GRID), PromisedRows(values)
    sized = opendp.vector_domain(opendp.atom_domain(T=float, nan=False), size=ROWS), opendp.symmetric_distance()
    clamped = opendp.t.make_clamp(*sized, bounds=(0.0, 100.0))
    average = clamped >> opendp.t.make_mean(clamped.output_domain, clamped.output_metric)
    # The mean moves by 100 / ROWS when one row is replaced: epsilon 1.
    measurement = average >> opendp.m.then_laplace(scale=100 / ROWS)
    variants: dict[str, Callable[[], object]] = {
        "dp, mean": lambda: release(question, "", question.aggregate_promised(rows), Price.pure(NANO)),
        "diffprivlib, floats": lambda: diffprivlib_mean(values, epsilon=1, bounds=(0, 100)),
        "OpenDP": lambda: measurement(values),
        "python-dp": lambda: BoundedMean(1.0, 0, 0.0, 100.0, dtype="float").quick_result(values),
    }
    yield Comparison("the mean of a million floats", variants, operations=1, rounds=11)
