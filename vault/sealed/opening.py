"""Opening: the ciphers that open one field, one for each header met, each only while the keyring holds its key."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms.data_key import LeasedKey
from kms.derive import field_key
from kms.errors import KeyDestroyedError, KeyRetiredError, UnknownKeyIdError
from kms.fork import forget_in_child
from kms.framing import lp
from kms.key_record import Purpose
from kms.keyring import Keyring
from vault.codec import Codec
from vault.codecs import codec_named
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import framed_context
from vault.errors import (
    CannotOpenError,
    FieldError,
    NotSealedError,
    UnknownGenerationError,
)
from vault.sealed.envelope import BODY_OFFSET, HEADER_BYTES, SealedValue, associated_data
from vault.sealed.generations import Generations
from vault.sealed.key_refusal import NOT_TO_BE_HAD, key_refusal

__all__ = ["BODY", "HEAD", "IV", "Opener", "Opening", "stored_bytes"]

DATA: Final = Purpose.DATA
HEAD: Final = slice(0, HEADER_BYTES)
IV: Final = slice(HEADER_BYTES, BODY_OFFSET)
BODY: Final = slice(BODY_OFFSET, None)
NOT_AT_ONCE: Final = (
    FieldError,  # the row
    InvalidTag,
    KeyError,  # a header not met before
    KeyDestroyedError,
    KeyRetiredError,
    TypeError,  # not bytes
    UnknownKeyIdError,
    ValueError,  # too short, or not the codec's
)

Row = Mapping[str, object] | None


def stored_bytes(stored: object) -> bytes:
    """What a driver gives for a binary column, as bytes. Raises: NotSealedError for anything else."""
    if isinstance(stored, bytes | bytearray | memoryview):
        return bytes(stored)
    raise NotSealedError(f"a sealed value is bytes, not {type(stored).__name__}: a write went around the vault")


@dataclass(frozen=True, slots=True)
class Opener:
    """The field key that one header names, and how the definition that it names encodes. context: if row-bound."""

    leased: LeasedKey
    key_id: bytes
    decrypt: Callable[[bytes, bytes, bytes], bytes]
    unbound: bytes
    bound: bytes
    context: Callable[[Row], bytes] | None
    codec: Codec
    decode: Callable[[bytes], Any]

    def associated_data(self, row: Row) -> bytes:
        """What the tag must bind. Raises: RowBindingError, without a place."""
        return self.unbound if self.context is None else self.bound + self.context(row)


class Opening:
    """Turns sealed values of one field into values. Shared by threads."""

    __slots__ = ("__weakref__", "_clock", "_generations", "_keyring", "_lease", "_place", "openers")

    def __init__(
        self,
        definition: FieldDefinition,
        generations: Mapping[int, FieldDefinition],
        keyring: Keyring,
        recorded: Callable[[], Mapping[int, FieldDefinition]] = dict,
    ) -> None:
        """generations: the definitions, beside this one, that the field's data may have been written by.

        recorded: reads those that are recorded by now, for a value of a generation that is not among them.
        """
        self._generations = Generations({**generations, definition.generation: definition}, recorded, keyring.clock)
        self._keyring = keyring
        self._lease = keyring.opening_lease
        self._clock = keyring.clock
        self._place = (definition.table, definition.column)
        self.openers: dict[bytes, Opener] = {}
        """By header; Field.open looks here first. Never another object, so that it may be held."""
        forget_in_child(self)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The bound columns of all generations."""
        known = self._generations.known()
        return tuple(dict.fromkeys(bound.name for definition in known for bound in definition.bound))

    def forget_after_fork(self) -> None:
        """A child opens its keyring itself."""
        self.openers.clear()

    def open(self, sealed: Any, row: Row = None) -> Any:
        """The value that was sealed in these bytes, or in this buffer.

        Raises: FieldError of some kind, and what the keyring raises about its own state.
        """
        try:
            opener = self.openers[sealed[HEAD]]
            if self._clock() < opener.leased.until:
                return opener.decode(opener.decrypt(sealed[IV], sealed[BODY], opener.associated_data(row)))
        except NOT_AT_ONCE:
            pass  # left to the way below, which finds out what it was; what decode's errors hold is not chained to ours
        return self.open_with_care(sealed, row)

    def open_with_care(self, stored: object, row: Row = None) -> Any:
        """As open, for bytes whose header was not met before, and for those that do not open."""
        sealed = stored_bytes(stored)
        opener = self.opener(sealed)
        aad = opener.associated_data(row)
        try:
            return opener.decode(opener.decrypt(sealed[IV], sealed[BODY], aad))
        except (InvalidTag, ValueError):
            pass
        raise CannotOpenError(*self._place, opener.key_id.hex())

    def opener(self, sealed: bytes) -> Opener:
        """The opener for the key and generation that the header names, and no other.

        Raises: NotSealedError, UnknownKeyError, UnknownGenerationError; KmsError when the keyring cannot tell.
        """
        value = SealedValue.parse(sealed)
        head = sealed[HEAD]
        held = self.openers.pop(head, None)
        table, column = self._place
        try:
            leased = self._lease(DATA, value.key_id)
        except NOT_TO_BE_HAD as error:
            refusal = key_refusal(table, column, value.key_id, error)
        else:
            definition = self._generations.find(value.generation)
            if definition is None:
                raise UnknownGenerationError(table, column, value.key_id.hex())
            if held is not None and held.leased.key is leased.key:
                opener = replace(held, leased=leased)
            else:
                opener = self._derived(head, leased, definition)
            self.openers[head] = opener
            return opener
        raise refusal

    def _derived(self, head: bytes, leased: LeasedKey, definition: FieldDefinition) -> Opener:
        table, column = self._place
        codec = codec_named(definition.codec)
        return Opener(
            leased,
            leased.key.key_id,
            AESGCM(field_key(leased.key.secret, self._keyring.id, table, column).raw).decrypt,
            associated_data(head, codec.id),
            head + lp(codec.id.encode()),
            framed_context(definition.bound) if definition.bound else None,
            codec,
            codec.decode,
        )
