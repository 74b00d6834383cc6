"""Draw discrete Laplace noise of scale 10, exactly, against peers that are exact and one that is not."""

import os
from collections.abc import Callable, Iterator
from fractions import Fraction

os.environ.setdefault("RUST_BACKTRACE", "0")  # OpenDP would set it, at a cost that is not its sampler's

import opendp.prelude as opendp
from diffprivlib.mechanisms import Geometric

from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import OperatingSystemRandom
from scripts.benchmarks.comparison import Comparison

DRAWS = 2000
BATCH = 100_000
SCALE = Fraction(10)


def comparisons() -> Iterator[Comparison]:
    opendp.enable_features("contrib")
    yield scalar()
    yield batch()


def scalar() -> Comparison:
    random = OperatingSystemRandom()
    space = opendp.atom_domain(T="i64"), opendp.absolute_distance(T="i64")
    measurement = opendp.m.make_laplace(*space, scale=float(SCALE))
    unsafe = Geometric(epsilon=0.1, sensitivity=1)

    def repeat(draw: Callable[[], object]) -> Callable[[], None]:
        def call() -> None:
            for _ in range(DRAWS):
                draw()

        return call

    variants: dict[str, Callable[[], object]] = {
        "dp, one exact draw": repeat(lambda: sample_discrete_laplace(SCALE, random)),
        "OpenDP, one exact draw": repeat(lambda: measurement(0)),
        "diffprivlib Geometric, floats": repeat(lambda: unsafe.randomise(0)),
    }
    return Comparison("one draw of discrete Laplace noise", variants, operations=DRAWS, rounds=7)


def batch() -> Comparison:
    random = OperatingSystemRandom()
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    measurement = opendp.m.make_laplace(*space, scale=float(SCALE))
    zeros = [0] * BATCH
    variants: dict[str, Callable[[], object]] = {
        "dp, a batch of 100,000": lambda: sample_many(SCALE, BATCH, random),
        "OpenDP, a vector of 100,000": lambda: measurement(zeros),
    }
    return Comparison("a draw in a batch", variants, operations=BATCH, rounds=7)
