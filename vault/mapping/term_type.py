"""Term types: that of a term column, and that of a value whose term is asked for."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import LargeBinary
from sqlalchemy.engine import Dialect
from sqlalchemy.types import BINARY, TypeDecorator, TypeEngine

from vault.errors import DefinitionError, SealedColumnError
from vault.index_slot import term_column
from vault.mapping.asked import Asked
from vault.mapping.attached import asking_for
from vault.mapping.sealed_column import SealedColumn

__all__ = ["NOT_WRITTEN", "AskedTerm", "Term", "asked_type"]

NOT_WRITTEN = "<a sealed value is not written into SQL>"
"""What literal_binds shows. No database accepts it; an error here would be printed with the value."""


class Term(TypeDecorator[bytes]):
    """A term column's type: length bytes, as the field computed them. Anything else is refused."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(BINARY(self.length))
        return dialect.type_descriptor(LargeBinary(self.length))

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], bytes | None]:  # noqa: ARG002
        length = self.length

        def checked(value: Any) -> bytes | None:
            if value is None or (isinstance(value, bytes) and len(value) == length):
                return value
            raise SealedColumnError(
                f"a term column takes terms of {length} bytes only: compare the sealed column instead"
            )

        return checked

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], bytes | None]:  # noqa: ARG002
        return lambda value: None if value is None else bytes(value)

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        return lambda _value: NOT_WRITTEN


class AskedTerm(TypeDecorator[Any]):
    """The type of a value asked for: binds as the term that the index's slot holds for it.

    none_matches_nothing: for a member of IN, where NULL adds no row; elsewhere NULL is refused.
    """

    impl = LargeBinary
    cache_ok = True

    def __init__(self, sealed: SealedColumn, index: str, none_matches_nothing: bool = False) -> None:
        super().__init__()
        self.sealed = sealed
        self.index = index
        self.none_matches_nothing = none_matches_nothing

    def __repr__(self) -> str:
        return f"AskedTerm({self.sealed.label}, {self.index!r})"

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], bytes | None]:
        sealed, none_matches_nothing = self.sealed, self.none_matches_nothing
        name = term_column(sealed.definition.column, self.index, "a")
        home = next(index.keyring for index in sealed.type.index if index.name == self.index)

        def compute(value: Any) -> bytes | None:
            if isinstance(value, Asked):
                value = value.value
            if value is None:
                if none_matches_nothing:
                    return None
                raise SealedColumnError(f"{sealed.label} is compared with a parameter that is NULL: use is_(None)")
            if sealed.given is not None:
                value = sealed.given(value)
            term = asking_for(dialect, sealed, home).terms(value)[name]
            if term is None:  # comparing with NULL would find nothing, in silence
                raise SealedColumnError(f"{sealed.label}: the slot that is asked, {name}, is not written")
            return term

        return compute

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        return lambda _value: NOT_WRITTEN


def asked_type(sealed: SealedColumn, none_matches_nothing: bool) -> TypeEngine[Any]:
    """The type of a value that is compared through the column's asked_index.

    One object for each column: SQLAlchemy keeps what it makes of a type with the type.
    """
    kind = sealed.asked_types.get(none_matches_nothing)
    if kind is None:
        if sealed.asked_index is None:
            raise DefinitionError(f"{sealed.label} has no index that answers ==")
        kind = sealed.asked_types[none_matches_nothing] = AskedTerm(
            sealed, sealed.asked_index.name, none_matches_nothing
        )
    return kind
