"""A random source: where the noise takes its random bits from."""

import os
from typing import Protocol


class RandomSource(Protocol):
    """Uniform and independent bits. Tests own a seeded one; everybody else uses OperatingSystemRandom."""

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1, each as likely. n is at least 1."""
        ...

    def bytes(self, n: int) -> bytes:
        """n random bytes."""
        ...


class OperatingSystemRandom:
    """The operating system's generator. It keeps no state, so a fork cannot repeat its noise and no seed sets it."""

    __slots__ = ()

    def below(self, n: int) -> int:
        bits = (n - 1).bit_length()
        size = (bits + 7) // 8
        surplus = 8 * size - bits
        while True:
            number = int.from_bytes(os.urandom(size), "little") >> surplus
            if number < n:
                return number

    def bytes(self, n: int) -> bytes:
        return os.urandom(n)
