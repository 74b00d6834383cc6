"""Asking by mode: a comparison of a migrating field, compiled as one of terms or as one of plaintext.

While the plaintext is read, the database compares it as it always did, by the rules of that column's own type and
collation; from dual-read-sealed on it compares terms, by those of the index.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable
from typing import Any

from sqlalchemy import Boolean
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BindParameter, ColumnElement, TypeCoerce, UnaryExpression
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.types import TypeDecorator, TypeEngine

from vault.errors import SealedColumnError
from vault.mapping.asked import Asked
from vault.mapping.compiled_modes import mode_of_compiled
from vault.mapping.read_by_mode import require_column_hook
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.term_type import NOT_WRITTEN, AskedTerm

__all__ = ["AskByMode", "AskedPlaintext", "JoinByMode"]


class _ByMode(ColumnElement[bool]):
    """A condition. Negated it is NOT of itself, which for NULL is NULL as well."""

    operator: OperatorType

    def __init__(self) -> None:
        self.type = Boolean()

    def _negate(self) -> "ColumnElement[Any]":
        return UnaryExpression(self.self_group(against=operators.inv), operator=operators.inv)

    @property
    def _from_objects(self) -> list[Any]:
        return [source for part in self.get_children() for source in part._from_objects]


class AskByMode(_ByMode):
    """sealed: the column that is asked. term: that of its index. parameter: what it is asked for. asked: as what type.

    Of a part, which only an index over parts knows, the plaintext is not asked.
    """

    __visit_name__ = "noisevault_ask_by_mode"
    _traverse_internals = [  # noqa: RUF012  # SQLAlchemy's own name
        ("sealed", InternalTraversal.dp_clauseelement),
        ("term", InternalTraversal.dp_clauseelement),
        ("operator", InternalTraversal.dp_operator),
        ("parameter", InternalTraversal.dp_clauseelement),
        ("asked", InternalTraversal.dp_type),
    ]
    inherit_cache = True

    def __init__(
        self,
        sealed: "ColumnElement[Any]",
        term: "ColumnElement[Any]",
        operator: OperatorType,
        parameter: "BindParameter[Any]",
        asked: AskedTerm,
    ) -> None:
        super().__init__()
        self.asked = asked
        self.sealed = sealed
        self.term = term
        self.operator = operator
        self.parameter = parameter


class JoinByMode(_ByMode):
    """Two columns compared: left with right, or their terms."""

    __visit_name__ = "noisevault_join_by_mode"
    _traverse_internals = [  # noqa: RUF012  # SQLAlchemy's own name
        ("left", InternalTraversal.dp_clauseelement),
        ("right", InternalTraversal.dp_clauseelement),
        ("operator", InternalTraversal.dp_operator),
        ("left_term", InternalTraversal.dp_clauseelement),
        ("right_term", InternalTraversal.dp_clauseelement),
    ]
    inherit_cache = True

    def __init__(
        self,
        left: "ColumnElement[Any]",
        right: "ColumnElement[Any]",
        operator: OperatorType,
        left_term: "ColumnElement[Any]",
        right_term: "ColumnElement[Any]",
    ) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.operator = operator
        self.left_term = left_term
        self.right_term = right_term

    def __bool__(self) -> bool:
        """Whether both are one column: SQLAlchemy's own dictionaries of columns ask this."""
        same = hash(self.left) == hash(self.right)
        return same if self.operator is operators.eq else not same


class AskedPlaintext(TypeDecorator[Any]):
    """The type of a value asked for while plaintext is read: it binds as a value of the plaintext column does."""

    impl = Boolean
    cache_ok = True

    def __init__(self, sealed: SealedColumn, none_matches_nothing: bool) -> None:
        super().__init__()
        self.impl = sealed.plaintext_type  # type: ignore[assignment]  # an instance, as its own __init__ makes it
        self.sealed = sealed
        self.none_matches_nothing = none_matches_nothing

    def __repr__(self) -> str:
        return f"AskedPlaintext({self.sealed.label})"

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return self.sealed.plaintext_type.dialect_impl(dialect)

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        if isinstance(value, Asked):
            value = value.value
        if value is None and not self.none_matches_nothing:
            raise SealedColumnError(f"{self.sealed.label} is compared with a parameter that is NULL: use is_(None)")
        return value

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002
        return lambda _value: NOT_WRITTEN


@compiles(AskByMode)
def _ask(element: AskByMode, compiler: SQLCompiler, **kw: Any) -> str:
    require_column_hook()
    kind = element.asked
    owner = kind.sealed
    # A variable of a lambda statement is put in under the parameter's key, with a type of its own.
    parameter: Any = element.parameter._clone(maintain_key=True)
    if mode_of_compiled(compiler, owner).reads_sealed:
        parameter.type = kind
        return compiler.process(element.term.operate(element.operator, parameter), **kw)
    if owner.index_named(kind.index).normaliser.partial:
        raise SealedColumnError(
            f"{owner.label} is asked for a part, which its index {kind.index} knows from mode dual-read-sealed on:"
            " filter in Python until then"
        )
    parameter.type = _asked_plaintext(owner, kind)
    plain = TypeCoerce(element.sealed, owner.plaintext_type)
    return compiler.process(plain.operate(element.operator, parameter), **kw)


@compiles(JoinByMode)
def _join(element: JoinByMode, compiler: SQLCompiler, **kw: Any) -> str:
    kinds: list[Any] = [side.type for side in (element.left, element.right)]
    owners: list[SealedColumn] = [kind.owner for kind in kinds]
    sealed = {mode_of_compiled(compiler, owner).reads_sealed for owner in owners}
    if sealed == {True}:
        return compiler.process(element.left_term.operate(element.operator, element.right_term), **kw)
    if sealed == {False}:
        left, right = (
            TypeCoerce(side, owner.plaintext_type)
            for side, owner in zip((element.left, element.right), owners, strict=True)
        )
        return compiler.process(left.operate(element.operator, right), **kw)
    raise SealedColumnError(
        f"{owners[0].label} and {owners[1].label} are compared while one is read from its plaintext and one is not:"
        " bring both to mode dual-read-sealed"
    )


def _asked_plaintext(owner: SealedColumn, asked: AskedTerm) -> TypeEngine[Any]:
    """One object for each, as of asked_type(): a name that stands in two places has one type."""
    key = ("", asked.none_matches_nothing)
    kind = owner.asked_types.get(key)
    if kind is None:
        kind = owner.asked_types[key] = AskedPlaintext(owner, asked.none_matches_nothing)
    return kind
