"""Slot terms: the terms of one slot of a field's index, made as its pin says."""

from collections.abc import Callable
from typing import Any, Final

from kms.derive import index_key, shared_index_key
from kms.keyring import Keyring
from kms.secret import SecretKey
from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.codecs.text import STR
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotPin
from vault.errors import InvalidValueError
from vault.index.term_maker import TermMaker
from vault.terms.term import BlindIndex, asked_encoding, equality_encoding

__all__ = ["SlotTerms", "declared_matcher"]

Encoding = Callable[[object], bytes | None]
NOTHING_TO_LOOK_UP: Final = "there is nothing to look up in what is asked for"


class SlotTerms:
    """index: as the definition that the pin names has it. Immutable, shared by threads."""

    __slots__ = ("_asked", "_equality", "_maker", "index", "pin")

    def __init__(self, definition: FieldDefinition, index: BlindIndex, pin: SlotPin, keyring: Keyring) -> None:
        codec = codec_named(unpadded_id(definition.codec))
        self.index = index
        self.pin = pin
        self._maker = TermMaker(
            (definition.table, definition.column), _derivation(definition, index, keyring.id), pin, keyring, index
        )
        self._equality: Encoding = equality_encoding(codec, index.normaliser)
        self._asked: Encoding = asked_encoding(codec, index.normaliser)

    def term(self, value: object) -> bytes | None:
        """None for what a partial index finds no part of."""
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
            raise InvalidValueError(NOTHING_TO_LOOK_UP)
        return self._maker.term(encoding)

    def matcher(self, asked: object) -> Callable[[object], bool]:
        return _matcher(self._equality, self._asked(asked))


def declared_matcher(definition: FieldDefinition, index: BlindIndex) -> Callable[[object], Callable[[object], bool]]:
    """What SlotTerms.matcher is, of an index as it is declared, whatever its slots hold."""
    codec = codec_named(unpadded_id(definition.codec))
    equality, asked_as = equality_encoding(codec, index.normaliser), asked_encoding(codec, index.normaliser)
    return lambda asked: _matcher(equality, asked_as(asked))


def _matcher(equality: Encoding, wanted: bytes | None) -> Callable[[object], bool]:
    return lambda value: value is not None and equality(value) == wanted


def _derivation(definition: FieldDefinition, index: BlindIndex, keyring_id: bytes) -> Callable[[SecretKey], SecretKey]:
    if index.scope is not None:
        scope = index.scope
        return lambda key: shared_index_key(key, keyring_id, scope)
    return lambda key: index_key(key, keyring_id, definition.table, definition.column, index.name)
