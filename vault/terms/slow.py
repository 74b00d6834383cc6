"""Slow index: what is compared is stretched by argon2id before its HMAC, so that each guess costs a thief of the key.

salt = leftmost 16 bytes of HMAC-SHA-256(index's key, lp("noisevault/1 slow index")): nothing can be computed ahead of
the theft of the key.
"""

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id as _Argon2id

from kms.framing import lp
from vault.errors import DefinitionError

__all__ = ["OWASP_ARGON2ID", "Argon2id"]

# RFC 9106, section 3.1: 16 bytes of salt suffice.
RFC_9106_SALT_BYTES: Final = 16
STRETCHED_BYTES: Final = 32
# No stretched encoding has its length, so that no term can be the salt.
SALT_INPUT: Final = lp(b"noisevault/1 slow index")
# Ours: the least is the smallest memory that OWASP's Password Storage Cheat Sheet names; the most is what a recorded
# definition may make its reader allocate, and work through, for one value.
MEMORY_MIN_KIB: Final = 7 * 1024
MEMORY_MAX_KIB: Final = 1024 * 1024
WORK_MAX_KIB: Final = 4 * 1024 * 1024
LANES_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Argon2id:
    """RFC 9106. memory_kib: KiB for one value. iterations: passes over them. lanes: how many can work at once.

    Raises: DefinitionError beyond 7,168 to 1,048,576 KiB, 4 GiB in all passes, 16 lanes.
    """

    memory_kib: int
    iterations: int
    lanes: int

    def __post_init__(self) -> None:
        numbers = (self.memory_kib, self.iterations, self.lanes)
        if not all(type(number) is int and number > 0 for number in numbers) or self.lanes > LANES_MAX:
            raise DefinitionError(f"argon2id has iterations and lanes above 0, and at most {LANES_MAX} lanes")
        if not MEMORY_MIN_KIB <= self.memory_kib <= MEMORY_MAX_KIB:
            raise DefinitionError(f"a slow index uses {MEMORY_MIN_KIB} to {MEMORY_MAX_KIB} KiB, not {self.memory_kib}")
        if self.memory_kib * self.iterations > WORK_MAX_KIB:
            raise DefinitionError(f"a slow index works through at most {WORK_MAX_KIB} KiB in all its passes")

    def stretch(self, keyed: HMAC, encoding: bytes) -> bytes:
        """What the term's HMAC is computed of, instead of the encoding. keyed: the HMAC under the index's key."""
        mac = keyed.copy()
        mac.update(SALT_INPUT)
        return _Argon2id(
            salt=mac.finalize()[:RFC_9106_SALT_BYTES],
            length=STRETCHED_BYTES,
            iterations=self.iterations,
            lanes=self.lanes,
            memory_cost=self.memory_kib,
        ).derive(encoding)


# OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, two passes, one lane.
OWASP_ARGON2ID: Final = Argon2id(memory_kib=19 * 1024, iterations=2, lanes=1)
