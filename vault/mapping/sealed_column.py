"""Sealed column: one declared field, tied to the table it stands in, and what its declaration says."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, TypeVar

from sqlalchemy import CHAR, NCHAR, Column, Enum, Integer, LargeBinary, String, Table, Uuid
from sqlalchemy.dialects.postgresql import CITEXT
from sqlalchemy.types import TypeDecorator, TypeEngine

from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SLOTS, Slot, term_column
from vault.definitions.row_context import BoundColumn
from vault.errors import DefinitionError, FieldError
from vault.mapping.declared_type import codec_id_of, given, most_values, refuse_too_long, restored
from vault.mapping.kept_name import require_kept
from vault.terms.term import BlindIndex

__all__ = ["Declaration", "SealedColumn"]

T = TypeVar("T")
# Ours: of so few values each is known from how often it occurs.
FEW_VALUES: Final = 16


class Declaration(TypeDecorator[T]):
    """The type of a sealed column, as far as it is a declaration: Sealed, which alone is made, says how it behaves."""

    stored: TypeEngine[T]
    codec_id: str
    pad: int | None
    width: int | None
    index: tuple[BlindIndex, ...]
    unique: bool
    bind: tuple[str, ...]
    tenant: str | None
    migrating: str | None
    plaintext: "Column[Any] | None"
    required: bool
    table: str | None
    column: str | None
    generation: int
    owner: "SealedColumn | None"


class SealedColumn:
    """A column whose type is Sealed, with all that follows from its declaration. It holds no key."""

    def __init__(self, column: "Column[Any]") -> None:
        self.column = column
        self.asked_types: dict[tuple[str, bool], TypeEngine[Any]] = {}
        """Kept here for asked_type() of term_type.py."""

    def __getstate__(self) -> dict[str, Any]:
        """What follows from the column is found anew, and functions are not pickled."""
        return {"column": self.column, "asked_types": {}}

    def __repr__(self) -> str:
        return f"<sealed column {self.column.table.name}.{self.column.name}>"

    @property
    def type(self) -> Declaration[Any]:
        kind: Declaration[Any] = self.column.type  # type: ignore[assignment]
        return kind

    @property
    def table(self) -> Table:
        return self.column.table

    @property
    def label(self) -> str:
        """The SQL names, as messages show them."""
        return f"{self.table.name}.{self.column.name}"

    @cached_property
    def definition(self) -> FieldDefinition:
        """Raises: DefinitionError for names with dots, and for columns that cannot be bound."""
        kind, table = self.type, self.table
        if kind.table is None:
            names = [name for name in (table.schema, table.name) if name is not None]
            if any("." in name for name in names):
                raise DefinitionError(f"{self.label}: a name has a dot; give the field a context name with table=")
            context_table = ".".join(names)
        else:
            context_table = kind.table
        return FieldDefinition(
            table=str(context_table),
            column=str(self.column.name if kind.column is None else kind.column),
            codec=kind.codec_id,
            bound=tuple(BoundColumn(str(column.name), codec_id_of(column.type)) for column in self.bound),
            indexes=kind.index,
            generation=kind.generation,
        )

    @cached_property
    def bound(self) -> "tuple[Column[Any], ...]":
        """The columns that the field's values are bound to. Raises: DefinitionError."""
        return tuple(self._bindable(name) for name in self.type.bind)

    @cached_property
    def tenant(self) -> "Column[Any] | None":
        """The column that says whose keyring seals the row's value. Raises: DefinitionError."""
        if self.type.tenant is None:
            return None
        column = self._bindable(self.type.tenant)
        if isinstance(column.type, LargeBinary):
            raise DefinitionError(f"{self.label}: a tenant is named by a string, int or UUID column, not by bytes")
        return column

    @cached_property
    def row_columns(self) -> "tuple[Column[Any], ...]":
        """All columns of the row that must be known to seal or open: the bound ones and the tenant's."""
        return self.bound if self.tenant is None or self.tenant in set(self.bound) else (*self.bound, self.tenant)

    @cached_property
    def row_codecs(self) -> tuple[BoundColumn, ...]:
        """The row columns by name, with how each is read."""
        return tuple(BoundColumn(str(column.name), codec_id_of(column.type)) for column in self.row_columns)

    @cached_property
    def asked_index(self) -> BlindIndex | None:
        """The index that answers ==: the first that keeps all bits of the whole value."""
        return next((index for index in self.type.index if index.answers_equality), None)

    def index_named(self, name: str) -> BlindIndex:
        """Raises: DefinitionError, which names those there are."""
        for index in self.type.index:
            if index.name == name:
                return index
        known = ", ".join(index.name for index in self.type.index) or "none"
        raise DefinitionError(f"{self.label} has no index {name!r}; there are: {known}")

    def asked_value(self, index: str, value: Any) -> Any:
        """What is handed to the field for what an index is asked for: a part of a value goes as it is."""
        if self.given is None or self.index_named(index).normaliser.partial:
            return value
        return self.given(value)

    def joins(self, index: BlindIndex) -> str:
        """What names the key of an index: columns whose indexes have one name can be joined."""
        if index.scope is not None:
            return f"shared index {index.scope}"
        return f"{self.definition.label} {index.name}"

    @cached_property
    def given(self) -> Callable[[Any], Any] | None:
        """What is handed to the field for a value that is written or asked for, where it is not the value itself."""
        convert = given(self.type.stored)
        return None if convert is None else self._placed(convert)

    @cached_property
    def restored(self) -> Callable[[Any], Any] | None:
        """What is read for a value that the field opened, where it is not that value itself."""
        convert = restored(self.type.stored)
        return None if convert is None else self._placed(convert)

    @cached_property
    def refuse_too_long(self) -> Callable[[Any], None] | None:
        """Raises InvalidValueError, without a place, for what the declared length does not hold."""
        return refuse_too_long(self.type.stored)

    def to_write(self, values: list[Any]) -> list[Any]:
        """What is handed to the field for values that are written, none of them too long.

        Raises: InvalidValueError with the value's place.
        """
        check, convert = self.refuse_too_long, given(self.type.stored)
        if check is None and convert is None:
            return values
        made: list[Any] = []
        for place, value in enumerate(values):
            try:
                if value is not None and check is not None:
                    check(value)
                made.append(value if value is None or convert is None else convert(value))
            except FieldError as error:
                error.at(self.definition.table, self.definition.column, place)
                raise
        return made

    def _placed(self, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The conversion, NULL left alone, whose errors name the column."""

        def converted(value: Any) -> Any:
            if value is None:
                return None
            try:
                return convert(value)
            except FieldError as error:
                error.at(self.definition.table, self.definition.column)
                raise

        return converted

    @cached_property
    def plaintext(self) -> "Column[Any] | None":
        """The column that holds the plaintext while the field is migrating; None of a field that is not."""
        name = self.type.migrating
        return None if name is None else next((column for column in self.table.columns if column.name == name), None)

    @property
    def plaintext_type(self) -> TypeEngine[Any]:
        """The type of that column. Raises: DefinitionError of a field that has none."""
        if self.plaintext is None:
            raise DefinitionError(f"{self.label} is not migrating")
        return self.plaintext.type

    def term_column(self, index: BlindIndex, slot: Slot) -> "Column[Any]":
        """The hidden column beside it that holds one slot's terms."""
        return self.table.c[term_column(self.column.name, index.name, slot)]

    @property
    def term_columns(self) -> "list[Column[Any]]":
        """The hidden columns: slots a and b of each index, in order."""
        return [self.term_column(index, slot) for index in self.type.index for slot in SLOTS]

    def check(self) -> None:
        """Refuse a declaration that cannot work. Raises: DefinitionError."""
        column = self.column
        if column.primary_key or column.foreign_keys:
            raise DefinitionError(f"{self.label}: a sealed column is no primary or foreign key; key by another column")
        if column.onupdate is not None or column.server_default is not None or column.computed is not None:
            raise DefinitionError(f"{self.label}: onupdate=, server_default= and Computed cannot seal; set the value")
        if column.unique or column.index:
            raise DefinitionError(
                f"{self.label}: sealed bytes never repeat; declare Sealed(..., index=BlindIndex(), unique=True) instead"
            )
        if self.type.unique and self.asked_index is None:
            raise DefinitionError(
                f"{self.label}: unique=True needs an index that is not truncated or partial: declare a full-length one"
            )
        require_kept(
            self.label, (term_column(column.name, one.name, slot) for one in self.type.index for slot in SLOTS)
        )
        few = most_values(self.type.stored)
        if few is not None and few <= FEW_VALUES:
            for index in self.type.index:
                if not index.low_entropy:
                    raise DefinitionError(
                        f"{self.label} has {few} values at most, and an index would show which rows have which: leave"
                        " the index out and filter after reading, or insist by BlindIndex(..., low_entropy=True)"
                    )
        self._check_default(column, "give a Python value or function, or none")
        _ = self.definition, self.row_columns

    def _bindable(self, name: str) -> "Column[Any]":
        column = self.table.c.get(name)
        if column is None:
            raise DefinitionError(f"{self.label} is bound to {name}, which is no column of {self.table.name}")
        kind = column.type
        if isinstance(kind, Enum | CHAR | NCHAR) or not isinstance(kind, Integer | String | LargeBinary | Uuid):
            raise DefinitionError(
                f"{self.label}: a row is bound by int, UUID, bytes or string columns, {name} is {kind!r}"
            )
        if isinstance(kind, Uuid) and not kind.as_uuid:
            raise DefinitionError(f"{self.label}: {name} must be Uuid(as_uuid=True) to be bound")
        if isinstance(kind, CITEXT) or (isinstance(kind, String) and kind.collation is not None):
            raise DefinitionError(
                f"{self.label} is bound to {name}, whose type or collation may take unequal texts for equal:"
                " bind a string column without a collation"
            )
        if column is self.table.autoincrement_column and column.default is None:
            raise DefinitionError(
                f"{self.label} is bound to {name}, which the server assigns after the value is sealed:"
                f" set autoincrement=False on it and give its value, use default=uuid4, or bind another column"
            )
        if column.server_default is not None or column.computed is not None or column.identity is not None:
            raise DefinitionError(f"{self.label} is bound to {name}, which the server assigns: bind another column")
        if column.onupdate is not None:
            raise DefinitionError(f"{self.label} is bound to {name}, which changes (onupdate=): bind another column")
        if any(_changes(key.onupdate) or _changes(key.ondelete, "SET") for key in column.foreign_keys):
            raise DefinitionError(
                f"{self.label} is bound to {name}, which its foreign key changes in the server (ON UPDATE CASCADE or"
                " SET, ON DELETE SET): leave that out, or bind another column"
            )
        self._check_default(column, "its value must be known before the INSERT: use a Python default")
        return column

    def _check_default(self, column: "Column[Any]", remedy: str) -> None:
        default = column.default
        if default is not None and not (default.is_scalar or default.is_callable):
            raise DefinitionError(f"{self.label}: the default of {column.name} is made by the server; {remedy}")


def _changes(action: str | None, *words: str) -> bool:
    """Whether what a foreign key does on an UPDATE or DELETE is to write its column."""
    return action is not None and action.upper().startswith(words or ("CASCADE", "SET"))
