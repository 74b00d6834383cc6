import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import dp
from dp.noise.random_source import OperatingSystemRandom
from tests.sizes import sized


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 2**64, 2**200 + 1])
def test_a_number_below_n_is_below_n(n: int) -> None:
    random = OperatingSystemRandom()
    assert all(0 <= random.below(n) < n for _ in range(100))


def test_every_number_below_n_is_as_likely() -> None:
    draws = sized(20_000, 1_000_000)
    random = OperatingSystemRandom()
    seen = Counter(random.below(5) for _ in range(draws))
    assert set(seen) == set(range(5))
    assert sum((count - draws / 5) ** 2 / (draws / 5) for count in seen.values()) < 33.4  # chi-squared, 4, at 1e-6


def test_it_gives_as_many_bytes_as_asked_for() -> None:
    assert [len(OperatingSystemRandom().bytes(n)) for n in (0, 1, 1000)] == [0, 1, 1000]


FORKS = r"""
import os
from dp.noise.random_source import OperatingSystemRandom
random = OperatingSystemRandom()
random.bytes(16)
child = os.fork()
os.write(1, f"{random.bytes(16).hex()}\n".encode())  # whole lines, whoever writes first
if child:
    os.waitpid(child, 0)
"""


def test_it_holds_no_state_that_a_fork_could_repeat() -> None:
    assert not hasattr(OperatingSystemRandom(), "__dict__")
    assert OperatingSystemRandom.__slots__ == ()
    root = Path(dp.__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", FORKS], cwd=root, check=True, capture_output=True, text=True)
    assert len(set(run.stdout.split())) == 2
