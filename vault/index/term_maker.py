"""Term maker: the terms of one slot, by the index key that it is pinned to, used only while the keyring leases it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from kms.data_key import ENDED, DataKey, LeasedKey
from kms.fork import forget_in_child
from kms.key_record import Purpose
from kms.keyring import Keyring
from kms.secret import SecretKey
from vault.definitions.index_slot import SlotPin
from vault.sealed.key_refusal import NOT_TO_BE_HAD, key_refusal
from vault.terms.slow import Argon2id
from vault.terms.term import RFC_2104_SHA_256_BITS, leftmost, term_prefix

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
    """The derived index key, as an HMAC to be copied while the index key's lease lasts."""

    leased: LeasedKey
    hmac: HMAC


_NONE: Final = _Keyed(LeasedKey(DataKey(b"", INDEX, 0, SecretKey(bytes(32))), ENDED), HMAC(bytes(32), SHA256()))


class TermMaker:
    """Makes terms of equality encodings. Shared by threads. Its methods raise UnknownKeyError and KmsError."""

    __slots__ = (
        "__weakref__",
        "_bits",
        "_clock",
        "_derive",
        "_held",
        "_keyring",
        "_pin",
        "_place",
        "_prefix",
        "_slow",
        "_usual",
    )

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
        self._usual = self._slow is None and self._bits == RFC_2104_SHA_256_BITS
        self._clock = keyring.clock
        self._prefix = term_prefix(pin.generation, pin.key_id)
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """A child opens its keyring itself."""
        self._held = _NONE

    def term(self, encoding: bytes) -> bytes:
        held = self._held
        if self._clock() >= held.leased.until:
            held = self._asked()
        mac = held.hmac.copy()
        if self._usual:
            mac.update(encoding)
            return self._prefix + mac.finalize()
        mac.update(encoding if self._slow is None else self._slow.stretch(held.hmac, encoding))
        return self._prefix + leftmost(mac.finalize(), self._bits)

    def terms(self, encodings: Iterable[bytes]) -> list[bytes | None]:
        """The term of each encoding, in order; none is None."""
        if not self._usual:
            return [self.term(encoding) for encoding in encodings]
        copy, prefix = self._asked().hmac.copy, self._prefix
        made: list[bytes | None] = []
        add = made.append
        for encoding in encodings:  # the way of nearly every index, without another call
            mac = copy()
            mac.update(encoding)
            add(prefix + mac.finalize())
        return made

    def _asked(self) -> _Keyed:
        """The HMAC of the pinned key, of which the keyring is asked. Raises: UnknownKeyError."""
        try:
            leased = self._keyring.opening_lease(INDEX, self._pin.key_id)
        except NOT_TO_BE_HAD as error:
            refusal = key_refusal(*self._place, self._pin.key_id, error)
        else:
            held = self._held
            if held.leased.key is not leased.key:
                held = _Keyed(leased, HMAC(self._derive(leased.key.secret).raw, SHA256()))
            elif held.leased is not leased:
                held = replace(held, leased=leased)
            self._held = held
            return held
        raise refusal
