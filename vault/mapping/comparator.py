"""Comparator: what may be asked of a sealed column. Equality goes through an index's terms; the rest is refused."""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Iterable
from typing import Any

from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BindParameter, ClauseElement, ColumnElement, Null, TypeCoerce
from sqlalchemy.sql.lambdas import PyWrapper
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import TypeEngine

from vault.errors import SealedOperatorError
from vault.mapping.ask_by_mode import AskByMode, JoinByMode
from vault.mapping.asked import Asked
from vault.mapping.beside import beside, plain_column
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.term_type import AskedTerm, asked_type
from vault.terms.term import BlindIndex

__all__ = ["SealedComparator"]

_WORDS = {
    operators.lt: "<", operators.le: "<=", operators.gt: ">", operators.ge: ">=", operators.add: "+",
    operators.between_op: "BETWEEN", operators.asc_op: "ORDER BY", operators.desc_op: "ORDER BY",
    operators.nulls_first_op: "ORDER BY", operators.nulls_last_op: "ORDER BY", operators.distinct_op: "DISTINCT",
}  # fmt: skip
_EQUALITY = {operators.eq: operators.is_, operators.ne: operators.is_not}
_MEMBERSHIP = (operators.in_op, operators.not_in_op)


class SealedComparator(TypeEngine.Comparator[Any]):
    """`==`, `!=`, `in_`, `not_in` by term, `is_(None)`, `is_not(None)` by the column itself."""

    __slots__ = ()

    def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> "ColumnElement[Any]":
        """Raises: SealedOperatorError, which names what to do instead."""
        if op in _EQUALITY:
            return self._equal(op, other[0])
        if op in _MEMBERSHIP:
            return self._member(op, other[0])
        if op in (operators.is_, operators.is_not) and (other[0] is None or isinstance(other[0], Null)):
            return super().operate(op, *other, **kwargs)
        raise SealedOperatorError(self._refusal(op))

    def reverse_operate(self, op: OperatorType, other: Any, **kwargs: Any) -> "ColumnElement[Any]":  # noqa: ARG002
        """Raises: SealedOperatorError, always."""
        raise SealedOperatorError(self._refusal(op))

    def _equal(self, op: OperatorType, other: Any) -> "ColumnElement[Any]":
        other = _clause(other)
        if other is None or isinstance(other, Null):
            return super().operate(_EQUALITY[op], other)
        if isinstance(other, ColumnElement) and not isinstance(other, BindParameter):
            # SQLAlchemy's own dictionaries compare columns, so this cannot raise; the guard refuses to send it.
            terms = self._equal_columns(op, other)
            return super().operate(op, other) if terms is None else terms
        term, kind = self._term(none_matches_nothing=False)
        if not isinstance(other, BindParameter):
            return self._ask(op, term, BindParameter(None, Asked(other), type_=kind, unique=True), kind)
        if self._is_migrating:
            return AskByMode(self.expr, term, op, other, kind)
        return term.operate(op, TypeCoerce(other, kind))

    def _equal_columns(self, op: OperatorType, other: "ColumnElement[Any]") -> "ColumnElement[Any] | None":
        """Two occurrences of one field, as in a self-join, or of two that share an index: term against term."""
        mine, theirs = self._owner, getattr(other.type, "owner", None)
        if mine is None or not isinstance(theirs, SealedColumn):
            return None
        pair = _joinable(mine, theirs)
        if pair is None:
            return None
        left = beside(self.expr, mine.term_column(pair[0], "a"))
        right = beside(other, theirs.term_column(pair[1], "a"))
        if left is None or right is None:
            return None
        left, right = _as_entity(left, self.expr), _as_entity(right, other)
        if mine.plaintext is not None or theirs.plaintext is not None:
            return JoinByMode(self.expr, other, op, left, right)
        return left.operate(op, right)

    def _member(self, op: OperatorType, other: Any) -> "ColumnElement[Any]":
        other = _clause(other)
        term, kind = self._term(none_matches_nothing=op is operators.in_op)
        if isinstance(other, BindParameter):
            many: Any = other._clone(maintain_key=True)
            many.expanding, many.expand_op, many.type = True, op, kind
            return self._ask(op, term, many, kind)
        if isinstance(other, ClauseElement | str | bytes) or not isinstance(other, Iterable):
            raise SealedOperatorError(f"{self._label}: in_() takes a list of values; read a subquery's values first")
        members = list(other)
        if any(isinstance(member, ClauseElement) or hasattr(member, "__clause_element__") for member in members):
            raise SealedOperatorError(f"{self._label}: in_() takes a list of plain values, not SQL expressions")
        asked = [Asked(member) for member in members if member is not None]
        return self._ask(op, term, BindParameter(None, asked, type_=kind, unique=True, expanding=True), kind)

    def _ask(
        self, op: OperatorType, term: "ColumnElement[Any]", parameter: "BindParameter[Any]", kind: AskedTerm
    ) -> "ColumnElement[Any]":
        if self._is_migrating:
            return AskByMode(self.expr, term, op, parameter, kind)
        return term.operate(op, parameter)

    @property
    def _is_migrating(self) -> bool:
        return self._owner is not None and self._owner.plaintext is not None

    @property
    def _owner(self) -> SealedColumn | None:
        owner: SealedColumn | None = getattr(self.expr.type, "owner", None)  # a copied comparator has lost its own type
        return owner

    @property
    def _label(self) -> str:
        owner = self._owner
        return "a sealed expression" if owner is None else owner.label

    def _term(self, *, none_matches_nothing: bool) -> "tuple[ColumnElement[Any], AskedTerm]":
        owner = self._owner
        if owner is None:
            raise SealedOperatorError(
                "a sealed type outside a table's column cannot be asked: compare the column itself"
            )
        index = owner.asked_index
        if index is None:
            if owner.type.index:
                raise SealedOperatorError(
                    f"{owner.label} has only truncated or partial indexes, whose terms unequal values share: ask by"
                    " find() or find_all(), which open and compare, or declare BlindIndex() beside them for == and"
                    " in_()"
                )
            raise SealedOperatorError(
                f"{owner.label} has no index: declare Sealed(..., index=BlindIndex()) to ask by == or in_()"
            )
        if plain_column(self.expr) is None:
            raise SealedOperatorError(
                f"an expression over {owner.label} cannot be asked: compute in Python after reading"
            )
        term = beside(self.expr, owner.term_column(index, "a"))
        if term is None:
            name = owner.term_column(index, "a").name
            raise SealedOperatorError(
                f"{owner.label} is read here without its terms: select {name} too, or ask inside the subquery"
            )
        return _as_entity(term, self.expr), asked_type(owner, index, none_matches_nothing)

    def _refusal(self, op: OperatorType) -> str:
        word = _WORDS.get(op) or getattr(op, "opstring", op.__name__).removesuffix("_op").strip("_").upper()
        if word == "ORDER BY":
            return f"{self._label} is sealed and has no order: sort in Python after reading, or by a plain column"
        if word == "DISTINCT":
            return f"{self._label} is sealed, no two values are alike: use its term column instead"
        remedy = "ask by ==, in_() or is_(None), or filter in Python after reading"
        return f"{self._label} is sealed, {word} cannot work on it: {remedy}"


def _joinable(mine: SealedColumn, theirs: SealedColumn) -> tuple[BlindIndex, BlindIndex] | None:
    """An index of each by whose terms they can be compared: the very one that answers ==, or one that they share."""
    if mine is theirs:
        return None if mine.asked_index is None else (mine.asked_index, mine.asked_index)
    for index in mine.type.index:
        for other in theirs.type.index if index.scope is not None and index.answers_equality else ():
            if other.scope == index.scope and other.answers_equality:
                return index, other
    return None


def _clause(other: Any) -> Any:
    if isinstance(other, PyWrapper):  # a variable of a lambda statement, which becomes a parameter
        return other._py_wrapper_literal()  # type: ignore[no-untyped-call]
    return other.__clause_element__() if hasattr(other, "__clause_element__") else other


def _as_entity(term: "ColumnElement[Any]", expression: "ColumnElement[Any]") -> "ColumnElement[Any]":
    """The term column as a column of the same mapped entity, so that the ORM's aliases are followed."""
    notes = expression._annotations
    kept = {name: notes[name] for name in ("parententity", "parentmapper") if name in notes}
    return term._annotate(kept) if kept else term
