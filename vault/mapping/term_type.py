"""Term types: that of a term column, and that of a value whose term is asked for."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import LargeBinary
from sqlalchemy.engine import Dialect
from sqlalchemy.types import BINARY, TypeDecorator, TypeEngine

from vault.errors import DefinitionError, FieldError, SealedColumnError
from vault.mapping.asked import Asked
from vault.mapping.attached import asking_for
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_plan import in_use, plan_in_use
from vault.terms.term import RFC_2104_SHA_256_BITS, BlindIndex, term_bytes

__all__ = ["NOT_WRITTEN", "AskedTerm", "AskedTermType", "Term", "asked_type"]

NOT_WRITTEN = "<a sealed value is not written into SQL>"
"""What literal_binds shows. No database accepts it; an error here would be printed with the value."""


class Term(TypeDecorator[bytes]):
    """A term column's type: bytes as the field computed them. What is no term by its length is refused.

    length: of the terms of the declared index; while it is changed a slot may hold longer or shorter ones.
    joins: what names the key, so that terms of one name can be equal. exact: whether equal terms mean equal values.
    owner: the column that it is of, where it is of one.
    """

    impl = LargeBinary
    cache_ok = True

    def __init__(self, length: int, joins: str = "", exact: bool = True) -> None:
        super().__init__(length)
        self.length = length
        self.joins = joins
        self.exact = exact
        self.owner: SealedColumn | None = None

    def __repr__(self) -> str:
        return f"Term({self.length})"

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(BINARY(self.length))
        return dialect.type_descriptor(LargeBinary(self.length))

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], bytes | None]:  # noqa: ARG002
        least, most = term_bytes(1), term_bytes(RFC_2104_SHA_256_BITS)

        def checked(value: Any) -> bytes | None:
            if value is None or (isinstance(value, bytes) and least <= len(value) <= most):
                return value
            raise SealedColumnError(
                f"a term column takes terms of {least} to {most} bytes only: compare the sealed column instead"
            )

        return checked

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], bytes | None]:  # noqa: ARG002
        return lambda value: None if value is None else bytes(value)

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        return lambda _value: NOT_WRITTEN


class AskedTermType(TypeDecorator[Any]):
    """The type of what is asked for: it binds as a term."""

    impl = LargeBinary
    cache_ok = True

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        return lambda _value: NOT_WRITTEN


class AskedTerm(AskedTermType):
    """The type of a value asked for: binds as the term that the index's slot holds for it.

    none_matches_nothing: for a member of IN, where NULL adds no row; elsewhere NULL is refused.
    """

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
        index = sealed.index_named(self.index)
        name, home = index.name, index.keyring
        key = (sealed, name)

        def compute(value: Any) -> bytes | None:
            if isinstance(value, Asked):
                value = value.value
            if value is None:
                if none_matches_nothing:
                    return None
                raise SealedColumnError(f"{sealed.label} is compared with a parameter that is NULL: use is_(None)")
            plan = in_use.get()
            found = None if plan is None else plan.found.get(key)
            if found is None:
                field = asking_for(dialect, sealed, home)  # the first to say that there is no vault
                plan = plan_in_use()
                found = plan.found[key] = plan.asked_terms(field, index)
            try:
                return found[1].asked(sealed.asked_value(name, value))
            except FieldError as error:
                error.at(sealed.definition.table, sealed.definition.column)
                raise

        return compute


def asked_type(sealed: SealedColumn, index: BlindIndex | None = None, none_matches_nothing: bool = False) -> AskedTerm:
    """The type of a value that is compared through an index of the column, its asked_index unless given.

    One object for each: SQLAlchemy keeps what it makes of a type with the type.
    """
    index = index or sealed.asked_index
    if index is None:
        raise DefinitionError(f"{sealed.label} has no index that answers ==")
    key = (index.name, none_matches_nothing)
    kind: Any = sealed.asked_types.get(key)
    if kind is None:
        kind = sealed.asked_types[key] = AskedTerm(sealed, index.name, none_matches_nothing)
    return kind  # type: ignore[no-any-return]
