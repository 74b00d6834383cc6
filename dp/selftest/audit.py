"""The audit: all checks of the self-test, one after the other."""

from collections.abc import Iterator
from typing import Final

from dp.errors import ParameterError
from dp.noise.random_source import OperatingSystemRandom, RandomSource
from dp.selftest.finding import Finding
from dp.selftest.freshness import freshness
from dp.selftest.granularity import granularity
from dp.selftest.sampling import sampling
from dp.selftest.thresholds import thresholds

# With fewer the samplers cannot be told from ones 0.7 or 1.3 times as wide.
LEAST_DRAWS: Final = 20_000
MOST_DRAWS: Final = 100_000_000


def audit(draws: int = LEAST_DRAWS) -> Iterator[Finding]:
    """The findings, each as soon as it is there, with this system's randomness. No data is read or needed.

    draws: of each sampler that draws in batches; the others draw half.

    Raises: ParameterError for fewer draws than 20,000.
    """
    return audit_with_random(draws, OperatingSystemRandom())


def audit_with_random(draws: int, random: RandomSource) -> Iterator[Finding]:
    """The deterministic half of audit(). Called by audit() and by tests only."""
    if type(draws) is not int or not LEAST_DRAWS <= draws <= MOST_DRAWS:
        raise ParameterError("draws", f"it is an int from {LEAST_DRAWS} to {MOST_DRAWS}")
    return _audited(draws, random)


def _audited(draws: int, random: RandomSource) -> Iterator[Finding]:
    yield from sampling(draws, random)
    yield from granularity(random)
    yield from freshness(random)
    yield from thresholds(draws, random)
