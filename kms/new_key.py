"""New key: random bytes with a random id, wrapped and dated, before any store has seen it."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Final

from kms.data_key import DATA_KEY_BYTES
from kms.errors import CannotUnwrapError, KeyringError
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.provider import KEY_ID_BYTES, KeyProvider, wrap_context
from kms.secret import SecretKey

__all__ = ["RandomBytes", "draw_key_id", "new_key"]

RandomBytes = Callable[[int], bytes]

# Ours: a good source repeats a 32-bit id once in billions of draws; this many times in a row it is broken.
DRAWS: Final = 64


def draw_key_id(random: RandomBytes, taken: Collection[bytes]) -> bytes:
    """An id that is neither zero nor taken. Raises: KeyringError if the source keeps repeating itself."""
    for _ in range(DRAWS):
        key_id = random(KEY_ID_BYTES)
        if any(key_id) and key_id not in taken:
            return key_id
    raise KeyringError("the random source gives the same key ids again and again: it is broken, make no keys with it")


def new_key(
    provider: KeyProvider,
    *,
    keyring_id: bytes,
    purpose: Purpose,
    key_id: bytes,
    sequence: int,
    state: KeyState,
    now: datetime,
    random: RandomBytes,
) -> KeyRecord:
    """A fresh key, wrapped for its place and unwrapped once, so that no key is kept that does not open."""
    key = SecretKey(random(DATA_KEY_BYTES))
    context = wrap_context(keyring_id, purpose.value, key_id, sequence)
    wrapped = provider.wrap(key, context)
    if provider.unwrap([(wrapped, context)]) != [key]:
        raise CannotUnwrapError("the provider does not give back what it wrapped: no key was made")
    return KeyRecord(keyring_id, purpose, key_id, sequence, state, wrapped, now, now)
