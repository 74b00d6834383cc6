"""Field: seals, opens and indexes the values of one column. The one object that the rest of the vault uses."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NoReturn, SupportsIndex, TypeVar

from kms.keyring import Keyring
from kms.lease import Clock
from vault.codecs import codec_named
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotKeys
from vault.definitions.row_context import framed_context
from vault.errors import FieldError, RowBindingError
from vault.index.field_plan import FieldPlan
from vault.index.field_terms import NO_HOMES, Indexing, first_slots
from vault.index.home import IndexHome
from vault.index.news import IndexNews
from vault.sealed.bulk_opening import open_many
from vault.sealed.envelope import SP_800_38D_IV_BYTES
from vault.sealed.opening import BODY, HEAD, IV, NOT_AT_ONCE, Opener, Opening
from vault.sealed.sealing import Sealing

__all__ = ["Field"]

T = TypeVar("T")
Row = Mapping[str, object]
_NO_GENERATIONS: Final[Mapping[int, FieldDefinition]] = {}


class Field:
    """Immutable and shared by threads; never pickled. NULL is None and stays None.

    row: values of the row by column name, for a row-bound field; columns that are not bound are ignored.
    """

    __slots__ = (
        "_clock",
        "_column",
        "_context",
        "_encode",
        "_indexing",
        "_open",
        "_openers",
        "_opening",
        "_random",
        "_sealing",
        "_table",
        "definition",
        "keyring",
    )

    definition: FieldDefinition
    keyring: Keyring
    _clock: Clock
    _openers: Mapping[bytes, Opener]
    _table: str
    _column: str
    _context: Callable[[Row | None], bytes] | None
    _encode: Callable[[object], bytes]
    _random: Callable[[int], bytes]
    _open: Callable[[object, Row | None], Any]
    _sealing: Sealing
    _opening: Opening
    _indexing: Indexing

    def __init__(
        self,
        definition: FieldDefinition,
        keyring: Keyring,
        slots: Mapping[str, SlotKeys] | None = None,
        generations: Mapping[int, FieldDefinition] = _NO_GENERATIONS,
        homes: Mapping[str, IndexHome] = NO_HOMES,
        news: IndexNews | None = None,
    ) -> None:
        """slots: the index keys by index name; without them slot a uses the keyring's first index key, for ever.

        generations: other definitions of the field, by generation, that its data may have been written by.
        homes: the other keyrings that its indexes live in. news: where pins, phases and generations are learnt later.
        """
        if slots is None:
            slots = first_slots(definition, keyring)
        own = IndexHome(keyring, generations, slots, news if definition.indexes else None)
        recorded = dict if news is None else partial(news.fields, definition.table, definition.column)
        sealing, opening = Sealing(definition, keyring), Opening(definition, generations, keyring, recorded)
        for name, part in {
            "definition": definition,
            "keyring": keyring,
            **dict(zip(("_table", "_column"), (definition.table, definition.column), strict=True)),
            "_context": framed_context(definition.bound) if definition.bound else None,
            "_encode": codec_named(definition.codec).encode,
            "_random": sealing.random,
            "_open": opening.open,
            "_openers": opening.openers,
            "_clock": keyring.clock,
            "_sealing": sealing,
            "_opening": opening,
            "_indexing": Indexing(definition, own, homes),
        }.items():
            object.__setattr__(self, name, part)

    def seal(self, value: object, row: Row | None = None) -> bytes | None:
        """The sealed value, different each time.

        Raises: InvalidValueError for a value that the codec cannot hold, RowBindingError, KmsError.
        """
        if value is None:
            return None
        try:
            data = self._encode(value)
            context = None if self._context is None else self._context(row)
            cipher = self._sealing.cipher
            if self._clock() < cipher.leased.until and next(cipher.block, False):
                try:  # the way of nearly every value, without another call
                    nonce = self._random(SP_800_38D_IV_BYTES)
                    bound = cipher.unbound if context is None else cipher.bound + context
                    return cipher.head + nonce + cipher.encrypt(nonce, data, bound)
                except OverflowError:
                    pass  # told below
            return self._sealing.seal(data, context)
        except FieldError as error:
            error.at(self._table, self._column)
            raise

    def open(self, sealed: Any, row: Row | None = None, *, row_key: object = None) -> Any:
        """The value that was sealed. row_key: the primary key, for the error's message only.

        Raises: NotSealedError, CannotOpenError, UnknownKeyError, RowBindingError, KmsError.
        """
        try:  # the way of nearly every value, without another call
            opener = self._openers[sealed[HEAD]]
            if self._clock() < opener.leased.until:
                bound = opener.unbound if opener.context is None else opener.bound + opener.context(row)
                return opener.decode(opener.decrypt(sealed[IV], sealed[BODY], bound))
        except NOT_AT_ONCE:
            pass
        if sealed is None:
            return None
        try:
            return self._open(sealed, row)
        except FieldError as error:
            error.at(self._table, self._column, row_key=row_key)
            raise

    def terms(self, value: object, plan: FieldPlan | None = None) -> dict[str, bytes | None]:
        """The index terms by term column name. Raises: InvalidValueError, UnknownKeyError, KmsError."""
        try:
            return (plan or self._indexing.plan()).terms(value)
        except FieldError as error:
            error.at(self._table, self._column)
            raise

    def plan(self) -> FieldPlan:
        """Which slots are written and asked now: to be taken once for a statement and handed to terms and asked_term.

        Raises: LeaseExpiredError if the key store could not be read within the sealing lease, KmsError.
        """
        return self._indexing.plan()

    def asked_term(self, index: str, asked: object, plan: FieldPlan | None = None) -> bytes:
        """The term that the asked slot of an index holds for what is asked for, a part where the index is partial.

        Raises: InvalidValueError, DefinitionError for an index that there is not or cannot be asked now, KmsError.
        """
        return self._of_index((plan or self.plan()).asked_term, index, asked)

    def matcher(self, index: str, asked: object, plan: FieldPlan | None = None) -> Callable[[object], bool]:
        """A function that tells whether an opened value is what the index is asked for: equal terms may be chance.

        Raises: InvalidValueError, DefinitionError, LeaseExpiredError.
        """
        return self._of_index((plan or self.plan()).matcher, index, asked)

    def seal_many(self, values: Sequence[object], rows: Sequence[Row] | None = None) -> list[bytes | None]:
        """As seal, for each value in order; all values are checked before one is sealed.

        Raises: as seal; the error of one value has its number in the batch as .row.
        """
        values = list(values)
        rows = self._rows(len(values), rows)
        parts, contexts = self._encoded(values, rows)
        try:
            sealed = self._sealing.seal_many(parts, contexts)
        except FieldError as error:
            error.at(self._table, self._column)
            raise
        if len(sealed) == len(values):
            return [*sealed]
        rest = iter(sealed)
        return [None if value is None else next(rest) for value in values]

    def open_many(
        self,
        sealed: Sequence[object],
        rows: Sequence[Row] | None = None,
        *,
        on_error: Literal["raise", "mark"] = "raise",
    ) -> list[Any]:
        """As open, for each value in order.

        on_error: "raise" the first error, with its number in the batch as .row, or "mark": the FieldError
        (NotSealedError, CannotOpenError, UnknownKeyError, RowBindingError) stands in the value's place.
        """
        sealed = list(sealed)
        # Where this definition binds nothing, an older one may.
        opened = open_many(self._opening, sealed, self._rows(len(sealed), rows) or rows)
        if any(issubclass(kind, FieldError) for kind in set(map(type, opened))):
            for number, value in enumerate(opened):
                if isinstance(value, FieldError):
                    value.at(self._table, self._column, row=number)
                    if on_error == "raise":
                        raise value
        return opened

    def terms_many(self, values: Sequence[object]) -> list[dict[str, bytes | None]]:
        """As terms, for each value in order; the error of one value has its number as .row."""
        return self._indexed(self._indexing.terms_many, values)

    def terms_by_column(self, values: Sequence[object], plan: FieldPlan | None = None) -> dict[str, list[bytes | None]]:
        """As terms_many, by term column name the terms of all values in order."""
        return self._indexed((plan or self._indexing.plan()).terms_by_column, values)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The columns that any known generation binds a value to, so that values of each can be opened."""
        return self._opening.bound_names

    @property
    def term_column_names(self) -> tuple[str, ...]:
        """The names of the term columns, slot a and b of each index in order."""
        return self._indexing.columns

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Field does not change: make another")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Field does not change: make another")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a Field is never pickled or copied: open the keyring in the other process and make it there")

    def __repr__(self) -> str:
        return f"Field({self.definition.label}, {self.definition.codec}, generation {self.definition.generation})"

    def _rows(self, n: int, rows: Sequence[Row] | None) -> list[Row] | None:
        """The rows of a row-bound field, one for each value; None for another field."""
        if self._context is None:
            return None
        if rows is None:
            names = ", ".join(bound.name for bound in self.definition.bound)
            raise RowBindingError(
                f"is bound to its row by {names}: pass rows= with their values", self._table, self._column
            )
        rows = list(rows)
        if len(rows) != n:
            raise RowBindingError(
                f"needs one row for each of {n} values, got {len(rows)} rows", self._table, self._column
            )
        return rows

    def _of_index(self, ask: Callable[[str, object], T], index: str, asked: object) -> T:
        try:
            return ask(index, asked)
        except FieldError as error:
            error.at(self._table, self._column)
            raise

    def _indexed(self, make: Callable[[list[object]], T], values: Sequence[object]) -> T:
        values = list(values)
        try:
            return make(values)
        except FieldError:
            pass
        for number, value in enumerate(values):
            try:
                self._indexing.terms(value)
            except FieldError as error:
                error.at(self._table, self._column, row=number)
                raise
        return make(values)

    def _encoded(self, values: list[object], rows: list[Row] | None) -> tuple[list[bytes], list[bytes] | None]:
        """Encodings, and row contexts of a row-bound field, of what is not NULL."""
        encode, context = self._encode, self._context
        try:
            if rows is None or context is None:
                return [encode(value) for value in values if value is not None], None
            pairs = [(encode(v), context(row)) for v, row in zip(values, rows, strict=True) if v is not None]
            return [part for part, _ in pairs], [bound for _, bound in pairs]
        except FieldError:
            pass  # encoded again below, one by one, to tell which it is
        for number, value in enumerate(values):
            try:
                if value is not None:
                    encode(value)
                    if rows is not None and context is not None:
                        context(rows[number])
            except FieldError as error:
                error.at(self._table, self._column, row=number)
                raise
        raise AssertionError("a value was refused once and taken the next time")
