"""Term maker: the terms of one slot, by the index key that it is pinned to, asked of the keyring each time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from kms.data_key import DataKey
from kms.fork import forget_in_child
from kms.key_record import Purpose
from kms.keyring import Keyring
from kms.secret import SecretKey
from vault.index_slot import SlotPin
from vault.key_refusal import NOT_TO_BE_HAD, key_refusal
from vault.slow import Argon2id
from vault.term import RFC_2104_SHA_256_BITS, leftmost, term_prefix

__all__ = ["TermMaker"]

INDEX: Final = Purpose.INDEX


class Width(Protocol):
    """What an index says of its terms."""

    @property
    def bits(self) -> int: ...

    @property
    def argon2id(self) -> Argon2id | None: ...


@dataclass(frozen=True, slots=True)
class _Keyed:
    """The derived index key, as an HMAC to be copied."""

    key: DataKey
    hmac: HMAC


class TermMaker:
    """Makes terms of equality encodings. Shared by threads. Its methods raise UnknownKeyError and KmsError."""

    __slots__ = ("__weakref__", "_bits", "_derive", "_held", "_keyring", "_pin", "_place", "_prefix", "_slow")

    def __init__(
        self,
        place: tuple[str, str],
        derive: Callable[[SecretKey], SecretKey],
        pin: SlotPin,
        keyring: Keyring,
        index: Width,
    ) -> None:
        """place: table and column, for errors. derive: from the index key to the key of this index."""
        self._place = place
        self._derive = derive
        self._pin = pin
        self._keyring = keyring
        self._bits = index.bits
        self._slow = index.argon2id
        self._prefix = term_prefix(pin.generation, pin.key_id)
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """A child opens its keyring itself."""
        self._held: _Keyed | None = None

    def term(self, encoding: bytes) -> bytes:
        keyed = self._hmac()
        mac = keyed.copy()
        mac.update(encoding if self._slow is None else self._slow.stretch(keyed, encoding))
        return self._prefix + leftmost(mac.finalize(), self._bits)

    def terms(self, values: list[object], encode: Callable[[object], bytes | None]) -> list[bytes | None]:
        """The term of each value, in order; None for None, and for what encode gives None for."""
        keyed, prefix = self._hmac(), self._prefix
        copy = keyed.copy
        made: list[bytes | None] = []
        add = made.append
        if self._slow is not None or self._bits != RFC_2104_SHA_256_BITS:
            encodings = [None if value is None else encode(value) for value in values]
            return [None if encoding is None else self.term(encoding) for encoding in encodings]
        for value in values:  # the way of nearly every index, without another call
            if value is not None and (encoding := encode(value)) is not None:
                mac = copy()
                mac.update(encoding)
                add(prefix + mac.finalize())
            else:
                add(None)
        return made

    def _hmac(self) -> HMAC:
        """The HMAC of the pinned key, asked of the keyring each time. Raises: UnknownKeyError."""
        try:
            key = self._keyring.opening(INDEX, self._pin.key_id)
        except NOT_TO_BE_HAD as error:
            refusal = key_refusal(*self._place, self._pin.key_id, error)
        else:
            held = self._held
            if held is None or held.key is not key:
                held = self._held = _Keyed(key, HMAC(self._derive(key.secret).raw, SHA256()))
            return held.hmac
        raise refusal
