"""Compound slot: the terms of one slot of an index over several columns, made as its pin says."""

from collections.abc import Callable, Sequence

from kms.derive import compound_index_key
from kms.keyring import Keyring
from vault.codecs import codec_named
from vault.definitions.index_definition import CompoundDefinition
from vault.definitions.index_slot import SlotPin
from vault.errors import FieldError, InvalidValueError
from vault.index.term_maker import TermMaker
from vault.terms.term import asked_encoding, compound_input, equality_encoding

__all__ = ["CompoundSlot"]

Encoding = Callable[[object], bytes | None]


class CompoundSlot:
    """definition: the one that the pin names. Immutable, shared by threads."""

    __slots__ = ("_asked", "_encode", "_maker", "definition", "pin")

    def __init__(self, definition: CompoundDefinition, keyring: Keyring, pin: SlotPin) -> None:
        keyring_id, table, name = keyring.id, definition.table, definition.name
        self.definition = definition
        self.pin = pin
        self._maker = TermMaker(
            (table, name), lambda key: compound_index_key(key, keyring_id, table, name), pin, keyring, definition
        )
        codecs = [(codec_named(part.codec), part.normaliser) for part in definition.parts]
        self._encode: list[Encoding] = [equality_encoding(*one) for one in codecs]
        self._asked: list[Encoding] = [asked_encoding(*one) for one in codecs]

    def terms(self, rows: Sequence[Sequence[object]]) -> list[bytes | None]:
        """The term of each row of values, which stand in the order of the parts; None as soon as one part is None.

        Raises: InvalidValueError with the row's place; UnknownKeyError, KmsError.
        """
        made: list[bytes | None] = []
        for place, row in enumerate(rows):
            encoding = compound_input(self._encodings(self._encode, row, place if len(rows) > 1 else None))
            made.append(None if encoding is None else self._maker.term(encoding))
        return made

    def asked(self, asked: Sequence[object]) -> bytes:
        """The term of what is asked for. Raises: InvalidValueError, UnknownKeyError, KmsError."""
        encoding = compound_input(self._encodings(self._asked, asked))
        if encoding is None:
            raise InvalidValueError("no row is found by a part that is NULL", *self.definition.place)
        return self._maker.term(encoding)

    def matcher(self, asked: Sequence[object]) -> Callable[[Sequence[object]], bool]:
        """A function that tells whether opened values are what is asked for."""
        wanted = compound_input(self._encodings(self._asked, asked))
        return lambda row: wanted is not None and compound_input(self._encodings(self._encode, row)) == wanted

    def _encodings(
        self, encode: Sequence[Encoding], row: Sequence[object], place: int | None = None
    ) -> list[bytes | None]:
        made: list[bytes | None] = []
        for part, one, value in zip(self.definition.parts, encode, row, strict=True):
            try:
                made.append(None if value is None else one(value))
            except FieldError as error:
                error.at(self.definition.table, part.column, place)
                raise
        return made
