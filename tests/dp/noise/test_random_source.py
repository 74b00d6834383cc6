import os
from collections import Counter

import pytest

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


def test_it_holds_no_state_that_a_fork_could_repeat() -> None:
    assert not hasattr(OperatingSystemRandom(), "__dict__")
    assert OperatingSystemRandom.__slots__ == ()
    random = OperatingSystemRandom()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, random.bytes(16))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as end:
        assert end.read() != random.bytes(16)
