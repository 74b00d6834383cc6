"""Random sources of the tests: seeded, scripted, and one that records what was asked of another."""

import random
from dataclasses import dataclass, field

from dp.noise.random_source import RandomSource


class SeededRandom:
    """The same bits in each run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        return self._random.randrange(n)

    def bytes(self, n: int) -> bytes:
        return self._random.randbytes(n)


class ScriptedRandom:
    """Gives the bytes it was handed, in order, and fails when it is asked for others."""

    def __init__(self, *script: bytes) -> None:
        self._script = list(script)

    def below(self, n: int) -> int:
        raise AssertionError("not in the script")

    def bytes(self, n: int) -> bytes:
        given = self._script.pop(0)
        assert len(given) == n
        return given

    @property
    def used_up(self) -> bool:
        return not self._script


@dataclass
class RecordingRandom:
    """Passes on the bits of another source and notes how much was asked for, call by call."""

    source: RandomSource
    asked: list[tuple[str, int]] = field(default_factory=list)

    def below(self, n: int) -> int:
        self.asked.append(("below", n))
        return self.source.below(n)

    def bytes(self, n: int) -> bytes:
        self.asked.append(("bytes", n))
        return self.source.bytes(n)
