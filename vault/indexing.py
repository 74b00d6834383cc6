"""Indexing: the terms of one field's values, made by the key that each index slot is pinned to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from kms.data_key import DataKey
from kms.derive import index_key
from kms.fork import forget_in_child
from kms.key_record import Purpose
from kms.keyring import Keyring
from vault.codec import Codec
from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.definition import FieldDefinition
from vault.errors import DefinitionError
from vault.index_home import IndexHome
from vault.index_slot import SlotKeys, SlotPin, term_column
from vault.key_refusal import NOT_TO_BE_HAD, key_refusal
from vault.term import RFC_2104_SHA_256_BITS, BlindIndex, leftmost, term_prefix

__all__ = ["Indexing", "equality_encoding"]

INDEX: Final = Purpose.INDEX
NO_HOMES: Final[Mapping[str, IndexHome]] = {}


def equality_encoding(codec: Codec, index: BlindIndex) -> Callable[[object], bytes]:
    """The function from a value to what the index's HMAC is computed of.

    It raises InvalidValueError, without a place, for what the codec cannot hold or the normaliser not read.
    """
    if not index.normaliser.of_text:
        return codec.equality
    normalise = index.normaliser.apply

    def equality(value: object) -> bytes:
        # Encoded first: what cannot be stored is refused even where the normaliser would drop it.
        return codec.equality(normalise(codec.decode(codec.encode(value))))

    return equality


@dataclass(frozen=True, slots=True)
class _Maker:
    """The derived index key, as an HMAC to be copied."""

    key: DataKey
    hmac: HMAC


class _SlotTerms:
    """The terms of one written slot."""

    __slots__ = ("__weakref__", "_derive", "_equality", "_index", "_keyring", "_maker", "_pin", "_prefix")

    def __init__(self, definition: FieldDefinition, index: BlindIndex, pin: SlotPin, keyring: Keyring) -> None:
        self._index = index
        self._pin = pin
        self._keyring = keyring
        self._derive = (keyring.id, definition.table, definition.column, index.name)
        self._equality = equality_encoding(codec_named(unpadded_id(definition.codec)), index)
        self._prefix = term_prefix(pin.generation, pin.key_id)
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """A child opens its keyring itself."""
        self._maker: _Maker | None = None

    def term(self, value: object) -> bytes:
        mac = self.hmac().copy()
        mac.update(self._equality(value))
        return self._prefix + leftmost(mac.finalize(), self._index.bits)

    def terms(self, values: list[object]) -> list[bytes | None]:
        copy, equality, prefix, bits = self.hmac().copy, self._equality, self._prefix, self._index.bits
        made: list[bytes | None] = []
        add = made.append
        for value in values:
            if value is None:
                add(None)
                continue
            mac = copy()
            mac.update(equality(value))
            add(prefix + (mac.finalize() if bits == RFC_2104_SHA_256_BITS else leftmost(mac.finalize(), bits)))
        return made

    def hmac(self) -> HMAC:
        """The HMAC of the pinned key, asked of the keyring each time. Raises: UnknownKeyError."""
        try:
            key = self._keyring.opening(INDEX, self._pin.key_id)
        except NOT_TO_BE_HAD as error:
            refusal = key_refusal(*self._derive[1:3], self._pin.key_id, error)
        else:
            maker = self._maker
            if maker is None or maker.key is not key:
                maker = self._maker = _Maker(key, HMAC(index_key(key.secret, *self._derive).raw, SHA256()))
            return maker.hmac
        raise refusal


class Indexing:
    """All the term columns of one field. Shared by threads."""

    __slots__ = ("_slots", "columns")

    def __init__(
        self,
        definition: FieldDefinition,
        generations: Mapping[int, FieldDefinition],
        keyring: Keyring,
        slots: Mapping[str, SlotKeys],
        homes: Mapping[str, IndexHome] = NO_HOMES,
    ) -> None:
        """slots: the pins by index name. generations: the definitions that a pin may name beside this one.

        homes: by name, the keyrings that indexes live in, with what they have recorded.

        Raises: DefinitionError for an index without pins, or a pin that names a generation without the index.
        """
        known = {**generations, definition.generation: definition}
        made: dict[str, _SlotTerms | None] = {}
        for index in definition.indexes:
            own = IndexHome(keyring, known, slots)
            home = own if index.keyring is None else homes.get(index.keyring)
            if home is None or index.name not in home.slots:
                raise DefinitionError(f"{definition.label}: no slot of the index {index.name!r} is pinned to a key")
            for slot, pin in home.slots[index.name]:
                column = term_column(definition.column, index.name, slot)
                made[column] = None if pin is None else _slot_terms(home, definition.label, index.name, pin)
        self._slots = made
        self.columns = tuple(made)

    def terms(self, value: object) -> dict[str, bytes | None]:
        """The term of one value for each term column; None for NULL and for a slot that is not written.

        Raises: InvalidValueError without a place, UnknownKeyError, KmsError.
        """
        if value is None:
            return dict.fromkeys(self.columns)
        return {column: None if slot is None else slot.term(value) for column, slot in self._slots.items()}

    def terms_many(self, values: list[object]) -> list[dict[str, bytes | None]]:
        """As terms, for each value in order."""
        by_column = self.terms_by_column(values)
        if not by_column:
            return [{} for _ in values]
        return [dict(zip(by_column, row, strict=True)) for row in zip(*by_column.values(), strict=True)]

    def terms_by_column(self, values: list[object]) -> dict[str, list[bytes | None]]:
        """As terms_many, the terms of each column together, which makes no object for each value but its term."""
        return {
            column: [None] * len(values) if slot is None else slot.terms(values) for column, slot in self._slots.items()
        }


def _slot_terms(home: IndexHome, label: str, name: str, pin: SlotPin) -> _SlotTerms:
    definition = home.generations.get(pin.generation)
    index = None if definition is None else next((i for i in definition.indexes if i.name == name), None)
    if definition is None or index is None:
        raise DefinitionError(f"{label}: no known definition of generation {pin.generation} has the index {name!r}")
    return _SlotTerms(definition, index, pin, home.keyring)
