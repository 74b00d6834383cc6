"""Sealed: the column type of a sealed field. The database holds only ciphertext; the attribute is the plain value."""

import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Column, LargeBinary
from sqlalchemy.dialects.mysql import LONGBLOB, VARBINARY
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine, to_instance

from vault.codecs import codec_named
from vault.codecs.padding import padded_length, padding_suffix
from vault.errors import DefinitionError, InvalidValueError, SealedColumnError
from vault.mapping.attached import attached_to, opener_for
from vault.mapping.beside import beside
from vault.mapping.comparator import SealedComparator
from vault.mapping.declared_type import codec_id_of, given, most_bytes
from vault.mapping.hooks import install_hooks
from vault.mapping.packed_row import PackedRow, unpacker
from vault.mapping.read_by_mode import ReadByMode, install_column_hook
from vault.mapping.sealed_column import Declaration, SealedColumn
from vault.mapping.term_type import NOT_WRITTEN
from vault.sealed.envelope import FORMAT, OVERHEAD_BYTES, looks_sealed
from vault.terms.term import BlindIndex

__all__ = ["Sealed", "mysql_bytes"]

T = TypeVar("T")
SEALED_FORMAT = bytes((FORMAT,))
MYSQL_LONGEST_VARBINARY = 16_000
READ_ALONE = "is bound to its row and was read alone by textual SQL: use select() of the column or its class"


class Sealed(Declaration[T]):
    """Sealed(Text, index=BlindIndex(casefold), bind=("person",)): one declaration of one field.

    stored: the type of the plain value: Text, String(n), Integer, BigInteger, AnyInteger, Float, Numeric, Boolean,
    Date, DateTime, Time, Enum, JSON, LargeBinary, Uuid, or Coded(codec) for a codec of the application's own.
    index: how the field is looked up, one or several; the first full-length one answers ==.
    unique: no two rows may have equal values, as that index tells.
    bind: columns of the row whose values the sealed value is bound to.
    tenant: the column of the row that names the tenant whose keyring seals its value; without it, the tenant in
    force does, where the engine has a vault of tenants.
    migrating: the column of the table that holds the plaintext while the field is migrated, by its name, or as a Column
    where it has more than the type of stored; which of the two is written and read is recorded beside the keys.
    pad, width: hide how long values are, by padding them to multiples of so many bytes, or all to one length.
    table, column: context names, when they are not the SQL names. generation: of the definition, 0 to 255.
    Raises: DefinitionError, here or when the column joins its table.
    """

    impl = LargeBinary
    cache_ok = True
    comparator_factory = SealedComparator

    def __init__(
        self,
        stored: type[TypeEngine[T]] | TypeEngine[T],
        *,
        index: BlindIndex | Sequence[BlindIndex] = (),
        unique: bool = False,
        bind: str | Sequence[str] = (),
        tenant: str | None = None,
        migrating: "str | Column[Any] | None" = None,
        pad: int | None = None,
        width: int | None = None,
        table: str | None = None,
        column: str | None = None,
        generation: int = 0,
    ) -> None:
        super().__init__()
        self.stored: TypeEngine[T] = to_instance(stored)
        self.pad = pad
        self.width = width
        self.codec_id = codec_id_of(self.stored) + padding_suffix(pad, width)
        codec_named(self.codec_id)
        self.hashable = self.stored.hashable
        self.index = (index,) if isinstance(index, BlindIndex) else tuple(index)
        self.unique = unique
        self.bind = (bind,) if isinstance(bind, str) else tuple(bind)
        self.tenant = tenant
        self.plaintext = migrating if isinstance(migrating, Column) else None
        self.migrating = migrating.name if isinstance(migrating, Column) else migrating
        self.required = False
        self.table = table
        self.column = column
        self.generation = generation
        self.owner: SealedColumn | None = None
        install_hooks()
        if self.migrating is not None:
            install_column_hook()

    def __repr__(self) -> str:
        parts = [repr(self.stored)]
        parts += [
            f"{name}={value!r}"
            for name in (
                "index",
                "unique",
                "bind",
                "tenant",
                "migrating",
                "pad",
                "width",
                "table",
                "column",
                "generation",
            )
            if (value := getattr(self, name))
        ]
        return f"Sealed({', '.join(parts)})"

    @property
    def python_type(self) -> type[Any]:
        return self.stored.python_type

    @property
    def most_bytes(self) -> int | None:
        """How many bytes the longest stored value has; None for any number."""
        most = padded_length(padding_suffix(self.pad, self.width), most_bytes(self.stored))
        return None if most is None else most + OVERHEAD_BYTES

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        mysql = dialect.name in {"mysql", "mariadb"}
        return dialect.type_descriptor(mysql_bytes(self.most_bytes) if mysql else LargeBinary())

    def column_expression(self, column: "Any") -> "Any":
        """A row-bound value is read together with what it is bound to, a migrating field's by its mode."""
        owner = self.owner
        if owner is None:
            return column
        whole = self._packed(owner, column) if owner.row_columns else column
        return whole if owner.plaintext is None else ReadByMode(owner, column, whole)

    def _packed(self, owner: SealedColumn, column: Any) -> PackedRow:
        bound = [(key, beside(column, key)) for key in owner.row_columns]
        missing = [key.name for key, found in bound if found is None]
        if missing:
            raise SealedColumnError(f"{owner.label} is bound to its row: select {', '.join(missing)} beside it")
        return PackedRow(column, [found for _, found in bound if found is not None], self)

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], bytes | None]:  # noqa: ARG002
        """The last gate: what does not look sealed goes nowhere."""
        owner = self.owner

        def sealed_only(value: Any) -> bytes | None:
            if value is None or looks_sealed(value):
                return value  # type: ignore[no-any-return]
            label = "a sealed column" if owner is None else owner.label
            raise SealedColumnError(
                f"a value for {label} is not sealed on this way: write it by insert() or update() of its table alone,"
                " ask for it by == or in_() on the column itself"
            )

        return sealed_only

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002
        owner = self.owner
        if owner is None:
            return _refuse_reading
        opens = self._open_packed(owner, dialect) if owner.row_columns else self._open(owner, dialect)
        restored = owner.restored
        return opens if restored is None else lambda value: restored(opens(value))

    def _open(self, owner: SealedColumn, dialect: Dialect) -> Callable[[Any], Any]:
        if attached_to(dialect) is not None:
            return opener_for(dialect, owner)
        return lambda value: None if value is None else opener_for(dialect, owner)(value)

    def _open_packed(self, owner: SealedColumn, dialect: Dialect) -> Callable[[Any], Any]:
        unpack = unpacker(owner.definition.label, owner.row_codecs, dialect)
        opens = opener_for(dialect, owner) if attached_to(dialect) is not None else None

        def open_packed(value: Any) -> Any:
            if value is not None and value[:1] == SEALED_FORMAT:  # no packed row begins so
                raise SealedColumnError(f"{owner.label} {READ_ALONE}")
            try:
                sealed, row = unpack(value)
            except (AttributeError, TypeError, ValueError, struct.error):  # NULL, or other bytes than a packed row's
                raise SealedColumnError(f"{owner.label} {READ_ALONE}") from None
            return None if sealed is None else (opens or opener_for(dialect, owner))(sealed, row)

        return open_packed

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        return lambda _value: NOT_WRITTEN

    def compare_values(self, x: Any, y: Any) -> bool:
        """Whether a flush need not write: equal values can be stored otherwise, as 1.0 and 1.00, or 1 and true."""
        if x is y:
            return True
        if x is None or y is None or x != y:
            return False
        try:
            return self._encoded(x) == self._encoded(y)
        except InvalidValueError:  # whichever it is, the write says so
            return False

    def _encoded(self, value: Any) -> bytes:
        convert = given(self.stored)
        return codec_named(self.codec_id).encode(value if convert is None else convert(value))

    def with_variant(self, type_: Any, *dialect_names: str) -> NoReturn:  # noqa: ARG002
        """Raises: DefinitionError: a database with another type would be sent, and give, what is not sealed."""
        raise DefinitionError("a sealed column has no variants: it is sealed on every database")


def mysql_bytes(longest: int | None) -> VARBINARY | LONGBLOB:
    """MariaDB's type for stored values of so many bytes at most; None for those of any length."""
    return LONGBLOB() if longest is None or longest > MYSQL_LONGEST_VARBINARY else VARBINARY(longest)


def _refuse_reading(_value: Any) -> Any:
    raise SealedColumnError("a sealed type outside a table's column has no key: read the column itself")
