"""The tie break: a salted hash that says which of a unit's rows and groups are kept when a cap binds.

A choice by the smallest hash of a row's own key depends on nothing else: not on the order, the batches, the other
units or the other rows. Privacy holds for every fixed salt, secret or not; the hash only has to be fair. Two rows of
one hash are told apart by what they hold, never by where they stand.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators": SplitMix64.
_SPLITMIX64_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_SPLITMIX64_MUL_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_SPLITMIX64_MUL_2: Final = np.uint64(0x94D049BB133111EB)
# Units are hashed in pieces, so that what is computed on the way stays in the processor's cache.
_BLOCK: Final = 2**15


def row_ties(salt: bytes, keys: Iterable[bytes]) -> NDArray[np.uint64]:
    """The `tie` column of a chunk from the rows' primary keys as bytes (one canonical encoding a key)."""
    start = hashlib.blake2b(key=_key(salt, b"row"), digest_size=8)
    digests = bytearray()
    for key in keys:
        state = start.copy()
        state.update(key)
        digests += state.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


def key_words(salt: bytes, keys: Iterable[bytes]) -> NDArray[np.uint64]:
    """One 64-bit hash a group key that nobody declared, in place of an index in a declared list."""
    own = _key(salt, b"group key")
    digests = b"".join(hashlib.blake2b(key, key=own, digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def integer_row_ties(salt: bytes, *columns: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The `tie` column from primary keys of integers, a column for each part of the key, in one pass of numpy.

    No two keys of one part share a tie; longer ones may.
    """
    first, *others = (np.ascontiguousarray(column).view(np.uint64) for column in columns)
    ties = _mix(first + _word(salt, b"integer row"))
    for part in others:
        ties = _mix(ties ^ part)
    return ties


def unit_words(unit: NDArray[np.int64] | NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """Units as rows of 64-bit words, (n, w): equal words, equal units."""
    if unit.dtype.type is np.int64:
        return np.ascontiguousarray(unit).view(np.uint64).reshape(-1, 1)
    padded = -(-unit.dtype.itemsize // 8) * 8
    return unit.astype(f"S{padded}").view(np.uint64).reshape(-1, padded // 8)


def unit_hash(salt: bytes, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One 64-bit hash a unit, the same with zero words at its end or without.

    Units of one word never share a hash; longer ones may: it orders them, it does not identify them.
    """
    hashes, start_with = np.empty(len(words), dtype=np.uint64), _word(salt, b"unit")
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        mixed = _mix(block[:, 0] ^ start_with)
        for column in range(1, words.shape[1]):
            word = block[:, column]
            mixed = np.where(word == 0, mixed, _mix(mixed ^ word))
        hashes[start : start + _BLOCK] = mixed
    return hashes


def group_hash(
    salt: bytes, unit: NDArray[np.uint64], group: NDArray[np.int32] | NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """By which a unit's groups are chosen: a hash of the salt, the unit (its hash) and the group's index, or of its
    key's word."""
    return _mix(unit ^ _mix(group.astype(np.uint64) + _word(salt, b"group")))


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser, a permutation of 64-bit integers; wraps on purpose (numpy arrays do so silently)."""
    mixed = state + _SPLITMIX64_GAMMA
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _SPLITMIX64_MUL_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SPLITMIX64_MUL_2
    return mixed ^ (mixed >> np.uint64(31))


def _key(salt: bytes, use: bytes) -> bytes:
    return hashlib.blake2b(salt, digest_size=32, person=use).digest()


def _word(salt: bytes, use: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(_key(salt, use)[:8], "little"))
