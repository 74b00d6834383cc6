"""Indexing: the terms of one field's values, made by the key that each index slot is pinned to."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kms.derive import index_key, shared_index_key
from kms.keyring import Keyring
from kms.secret import SecretKey
from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.codecs.text import STR
from vault.definition import FieldDefinition
from vault.errors import DefinitionError, InvalidValueError
from vault.index_home import IndexHome
from vault.index_slot import Slot, SlotKeys, SlotPin, term_column
from vault.term import BlindIndex, asked_encoding, equality_encoding
from vault.term_maker import TermMaker

__all__ = ["Indexing"]

Encoding = Callable[[object], bytes | None]
NO_HOMES: Final[Mapping[str, IndexHome]] = {}
NO_INDEX: Final = "has no index {!r}; there are: {}"


class _SlotTerms:
    """The terms of one written slot."""

    __slots__ = ("_asked", "_equality", "_maker", "partial")

    def __init__(self, definition: FieldDefinition, index: BlindIndex, pin: SlotPin, keyring: Keyring) -> None:
        codec = codec_named(unpadded_id(definition.codec))
        self._maker = TermMaker(
            (definition.table, definition.column), _derivation(definition, index, keyring.id), pin, keyring, index
        )
        self._equality: Encoding = equality_encoding(codec, index.normaliser)
        self._asked: Encoding = asked_encoding(codec, index.normaliser)
        self.partial = index.normaliser.partial

    def term(self, value: object) -> bytes | None:
        encoding = self._equality(value)
        return None if encoding is None else self._maker.term(encoding)

    def terms(self, values: list[object]) -> list[bytes | None]:
        if self._equality is STR.equality:
            texts: Any = values
            try:
                encoded: list[bytes] = list(map(str.encode, texts))
            except (TypeError, UnicodeEncodeError):
                pass  # NULL is among them, or what is refused below, where nothing is chained to it
            else:  # the usual column, without a call of ours for each value
                return self._maker.terms(encoded)
        encodings = [None if value is None else self._equality(value) for value in values]
        made = self._maker.terms([encoding for encoding in encodings if encoding is not None])
        if len(made) == len(values):
            return made
        rest = iter(made)
        return [None if encoding is None else next(rest) for encoding in encodings]

    def asked(self, asked: object) -> bytes:
        encoding = self._asked(asked)
        if encoding is None:
            raise InvalidValueError("there is nothing to look up in what is asked for")
        return self._maker.term(encoding)

    def matcher(self, asked: object) -> Callable[[object], bool]:
        wanted, equality = self._asked(asked), self._equality
        return lambda value: value is not None and equality(value) == wanted


def _derivation(definition: FieldDefinition, index: BlindIndex, keyring_id: bytes) -> Callable[[SecretKey], SecretKey]:
    if index.scope is not None:
        scope = index.scope
        return lambda key: shared_index_key(key, keyring_id, scope)
    return lambda key: index_key(key, keyring_id, definition.table, definition.column, index.name)


class Indexing:
    """All the term columns of one field. Shared by threads."""

    __slots__ = ("_column", "_slots", "columns")

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
                made[column] = None if pin is None else _slot_terms(home, definition, index, pin)
        self._slots = made
        self._column = definition.column
        self.columns = tuple(made)

    def terms(self, value: object) -> dict[str, bytes | None]:
        """The term of one value for each term column; None for NULL and for a slot that is not written.

        Raises: InvalidValueError without a place, UnknownKeyError, KmsError.
        """
        if value is None:
            return dict.fromkeys(self.columns)
        return {column: None if slot is None else slot.term(value) for column, slot in self._slots.items()}

    def asked_term(self, index: str, asked: object, slot: Slot = "a") -> bytes | None:
        """The term that one slot of an index holds for what is asked for; None if it is not written.

        Raises: as terms; DefinitionError for an index that the field has not.
        """
        terms = self._slot(index, slot)
        return None if terms is None else terms.asked(asked)

    def matcher(self, index: str, asked: object, slot: Slot = "a") -> Callable[[object], bool]:
        """Whether an opened value is what the index is asked for: its term alone may be another value's too."""
        terms = self._slot(index, slot)
        return (lambda _value: False) if terms is None else terms.matcher(asked)

    def _slot(self, index: str, slot: Slot) -> _SlotTerms | None:
        column = term_column(self._column, index, slot)
        if column not in self._slots:
            raise DefinitionError(f"{self._column} {NO_INDEX.format(index, ', '.join(self.columns))}")
        return self._slots[column]

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


def _slot_terms(home: IndexHome, declared: FieldDefinition, index: BlindIndex, pin: SlotPin) -> _SlotTerms:
    if index.scope is not None:  # the pin is the scope's, whose definition every column that shares it declares
        return _SlotTerms(declared, index, pin, home.keyring)
    definition = home.generations.get(pin.generation)
    found = None if definition is None else next((i for i in definition.indexes if i.name == index.name), None)
    if definition is None or found is None:
        raise DefinitionError(
            f"{declared.label}: no known definition of generation {pin.generation} has the index {index.name!r}"
        )
    return _SlotTerms(definition, found, pin, home.keyring)
