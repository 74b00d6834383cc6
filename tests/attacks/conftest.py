"""A pair of worlds of many trials, made once; every question of a test is one that was not asked before."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.attacks.world import Pair, pair
from tests.sizes import sized
from tests.vault.cli.conftest import loaded, run

__all__ = ["loaded", "run"]

TRIALS = sized(2000, 20_000)


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair(tmp_path_factory.mktemp("worlds"), TRIALS) as worlds:
        yield worlds


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return count(10_000_000)


@pytest.fixture
def harmless(_numbers: Iterator[int]) -> Iterator[str]:
    """Conditions that every row meets: each makes another question of a question."""
    return (f"person != {number}" for number in _numbers)
