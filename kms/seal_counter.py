"""Seal counter: how often each key sealed each field, counted ahead in blocks so that a crash over-counts."""

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from kms.errors import KeyringError, SealLimitError
from kms.fork import forget_in_child
from kms.key_database import reading, writing
from kms.key_tables import seal_count_table

__all__ = ["ROTATE_AFTER_SEALS", "SP_800_38D_MAX_SEALS", "SealBlock", "SealCounter", "reservation"]

# NIST SP 800-38D, 8.3: random 96-bit IVs serve at most 2**32 messages a key.
SP_800_38D_MAX_SEALS: Final = 2**32
# Ours: rotate at half of that, so that a late rotation is still a safe one.
ROTATE_AFTER_SEALS: Final = 2**31
# Ours: a process that seals little wastes little, one that seals much asks the database seldom.
SMALLEST_BLOCK: Final = 2**8
LARGEST_BLOCK: Final = 2**20
# Ours: what a process counts ahead for a field before its first seal: one chunk of a bulk write.
FIRST_AHEAD: Final = 2**12
GROWTH: Final = 4
INSERT_ATTEMPTS: Final = 5
LONGEST_LABEL: Final = 300

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SealBlock:
    """Seals that are counted in the database already and not made yet. wish: how many to reserve next time."""

    left: int = 0
    wish: int = SMALLEST_BLOCK

    @property
    def low(self) -> bool:
        """Whether it is time to reserve the next block: half of the one before is spent."""
        return self.left < self.wish // (2 * GROWTH)

    def missing(self, n: int) -> int:
        """How many of n seals this block does not cover."""
        return max(0, n - self.left)

    def refilled(self, reserved: int) -> "SealBlock":
        """The block with what was reserved; the next wish is larger."""
        return SealBlock(self.left + reserved, min(LARGEST_BLOCK, self.wish * GROWTH))

    def spent(self, n: int) -> "SealBlock":
        """The block after n seals. Raises: ValueError if it does not cover them."""
        if n > self.left:
            raise ValueError(f"the block covers {self.left} seals, not {n}")
        return SealBlock(self.left - n, self.wish)


def reservation(counted: int, missing: int, wish: int) -> int:
    """How many seals to add to counted: what is missing at least, the wish if it fits, 0 if neither fits."""
    room = SP_800_38D_MAX_SEALS - counted
    return 0 if missing > room else min(room, max(missing, wish))


class SealCounter:
    """Counts per key id and label in noisevault_seal_count. Shared by threads; a forked child starts without blocks."""

    def __init__(self, engine: Engine, on_low: Callable[[], None] = lambda: None) -> None:
        """engine: of the key store, so that counting never waits for, or is rolled back with, the application.

        on_low: called when somebody who has the time should call top_up().
        """
        self._engine = engine
        self._on_low = on_low
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """The parent's blocks stay the parent's."""
        self._blocks: dict[tuple[bytes, str], SealBlock] = {}
        self._lock = threading.Lock()

    def reserve(self, key_id: bytes, label: str, n: int) -> None:
        """Count n more seals before they are made.

        Raises: SealLimitError when the key would seal more than 2**32 values of the label, KeyringError if the
        key is not in the store, UnavailableError.
        """
        if n < 0:
            raise ValueError(f"cannot count {n} seals")
        if not 0 < len(label) <= LONGEST_LABEL:
            raise ValueError(f"a label is table.column, 1 to {LONGEST_LABEL} characters")
        with self._lock:
            block = self._blocks.get((key_id, label), SealBlock())
            missing = block.missing(n)
            if missing:
                block = block.refilled(self._count_ahead(key_id, label, missing, block.wish))
            self._blocks[key_id, label] = block = block.spent(n)
        if block.low:
            self._on_low()

    def top_up(self, sealing: Callable[[bytes], bytes | None], labels: Iterable[str] = (), key_id: bytes = b"") -> None:
        """Reserve ahead, where little is left, so that no seal has to wait for the database.

        sealing: the key that seals now in the place of another one, if any: each label that was counted under the
        other is counted under it ahead. labels, key_id: what is not counted here yet, and the key that will seal it.
        Raises: KmsError; a limit that is reached stops whoever seals, not this.
        """
        wishes = {(key_id, label): FIRST_AHEAD for label in labels}
        for (other, label), block in list(self._blocks.items()):
            current = sealing(other)
            if current is not None:
                wishes[current, label] = max(block.wish // GROWTH, wishes.get((current, label), SMALLEST_BLOCK))
        for (current, label), wish in wishes.items():
            block = self._blocks.get((current, label), SealBlock(wish=wish))
            if block.low:
                with suppress(SealLimitError):
                    reserved = self._count_ahead(current, label, 0, block.wish)  # without the lock: nobody waits for it
                    with self._lock:
                        block = self._blocks.get((current, label), block)
                        self._blocks[current, label] = block.refilled(reserved)

    def counts(self) -> dict[tuple[bytes, str], int]:
        """What the database has counted, by key id and label: at least the seals made, at most 2**32."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(seal_count_table)).all()
        return {(bytes(row.key_id), row.label): row.counted for row in rows}

    def _count_ahead(self, key_id: bytes, label: str, missing: int, wish: int) -> int:
        for _ in range(INSERT_ATTEMPTS):
            try:
                with writing(self._engine) as connection:
                    counted, reserved = _add(connection, key_id, label, missing, wish)
            except IntegrityError:  # another process wrote the label's first row: add to it
                continue
            if not reserved:
                raise SealLimitError(key_id, label, SP_800_38D_MAX_SEALS)
            if counted + reserved > ROTATE_AFTER_SEALS:
                _log.warning(
                    "key %s has sealed %d values of %s, over 2**31: rotate it; at 2**32 sealing stops",
                    key_id.hex(),
                    counted + reserved,
                    label,
                )
            return reserved
        raise KeyringError(f"cannot count seals of key {key_id.hex()}: it is not in this store")


def _add(connection: Connection, key_id: bytes, label: str, missing: int, wish: int) -> tuple[int, int]:
    """(counted before, reserved now) for one row, which stays locked until the transaction ends."""
    row = (seal_count_table.c.key_id == key_id) & (seal_count_table.c.label == label)
    counted = connection.execute(select(seal_count_table.c.counted).where(row).with_for_update()).scalar_one_or_none()
    reserved = reservation(counted or 0, missing, wish)
    if counted is None:
        connection.execute(insert(seal_count_table).values(key_id=key_id, label=label, counted=reserved))
    elif reserved:
        connection.execute(update(seal_count_table).where(row).values(counted=counted + reserved))
    return counted or 0, reserved
