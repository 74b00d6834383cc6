"""A keyring in memory whose keys, lease and clock the test sets."""

import threading
from collections import Counter
from collections.abc import Callable

from kms.data_key import DataKey, LeasedKey
from kms.errors import KeyDestroyedError, UnknownKeyIdError
from kms.key_record import Purpose
from kms.secret import SecretKey

KEYRING_ID = bytes.fromhex("00112233445566778899aabbccddeeff")


class FixedKeyring:
    """keys: raw data keys by key id; the last one seals. Index keys likewise. What is reserved is in .reserved."""

    def __init__(
        self,
        keys: dict[bytes, bytes],
        index_keys: dict[bytes, bytes] | None = None,
        *,
        keyring_id: bytes = KEYRING_ID,
        clock: Callable[[], float] = lambda: 0.0,
        lease: float = 60.0,
    ) -> None:
        self.id = keyring_id
        self.name = "fixed"
        self.clock = clock
        self.lease = lease
        self.reserved: Counter[tuple[bytes, str]] = Counter()
        self.reservations: list[int] = []
        self.destroyed: set[bytes] = set()
        self.before_reserve: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._opening: dict[bytes, LeasedKey] = {}
        self._sealing: dict[Purpose, LeasedKey] = {}
        self._keys: dict[Purpose, list[DataKey]] = {Purpose.DATA: [], Purpose.INDEX: []}
        for purpose, raw_keys in ((Purpose.DATA, keys), (Purpose.INDEX, index_keys or {})):
            for key_id, raw in raw_keys.items():
                self.add(key_id, raw, purpose)

    def add(self, key_id: bytes, raw: bytes, purpose: Purpose = Purpose.DATA) -> None:
        keys = self._keys[purpose]
        keys.append(DataKey(key_id, purpose, len(keys) + 1, SecretKey(raw)))
        self._end_leases()

    def unwrap_again(self) -> None:
        """As after a soft lease: the same keys in other objects."""
        for purpose, keys in self._keys.items():
            self._keys[purpose] = [DataKey(k.key_id, k.purpose, k.sequence, SecretKey(k.secret.raw)) for k in keys]
        self._end_leases()

    def destroy(self, key_id: bytes) -> None:
        self.destroyed.add(key_id)
        self._end_leases()

    def _end_leases(self) -> None:
        for leased in (*self._sealing.values(), *self._opening.values()):
            leased.end()
        self._sealing, self._opening = {}, {}

    def sealing(self, purpose: Purpose) -> LeasedKey:
        held = self._sealing.get(purpose)
        if held is None or self.clock() >= held.until:
            held = self._sealing[purpose] = LeasedKey(self._keys[purpose][-1], self.clock() + self.lease)
        return held

    def opening(self, purpose: Purpose, key_id: bytes) -> DataKey:
        for key in self._keys[purpose]:
            if key.key_id == key_id:
                if key_id in self.destroyed:
                    raise KeyDestroyedError(self.name, key_id)
                return key
        raise UnknownKeyIdError(self.name, key_id, purpose.value)

    def opening_lease(self, purpose: Purpose, key_id: bytes) -> LeasedKey:
        held = self._opening.get(key_id)
        if held is None or self.clock() >= held.until:
            held = self._opening[key_id] = LeasedKey(self.opening(purpose, key_id), self.clock() + self.lease)
        return held

    def first(self, purpose: Purpose) -> DataKey:
        return self._keys[purpose][0]

    def reserve_seals(self, key_id: bytes, label: str, n: int) -> None:
        self.before_reserve()
        with self._lock:
            self.reserved[key_id, label] += n
            self.reservations.append(n)
