"""Broken random sources, as a faulty installation may have them."""

from tests.dp.seeded import SeededRandom


class LoadedBytes(SeededRandom):
    """The highest byte of one word in ten is 0."""

    def bytes(self, n: int) -> bytes:
        drawn = bytearray(super().bytes(n))
        for place in range(3, n, 40):
            drawn[place] = 0
        return bytes(drawn)


class LoadedNumbers(SeededRandom):
    """Even numbers come more often than they should."""

    def below(self, n: int) -> int:
        drawn = super().below(n)
        return drawn - drawn % 2 if super().below(4) == 0 else drawn
