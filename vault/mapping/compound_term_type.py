"""Compound term types: a question by an index over several columns, which binds as the term of all its parts."""

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Table, inspect
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.elements import BindParameter

from vault.errors import DefinitionError, SealedColumnError
from vault.mapping.asked import Asked
from vault.mapping.attached import compound_for
from vault.mapping.compound_index import CompoundColumn
from vault.mapping.statement_plan import plan_in_use
from vault.mapping.table_plan import plan_of
from vault.mapping.term_type import AskedTermType

__all__ = ["asked_compound_type", "equal_together"]


class AskedCompound(AskedTermType):
    """The type of values asked for together: binds as the term that the slot that is asked holds for them."""

    cache_ok = True

    def __init__(self, compound: CompoundColumn) -> None:
        super().__init__()
        self.compound = compound

    def __repr__(self) -> str:
        return f"AskedCompound({self.compound.label})"

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], bytes | None]:
        compound = self.compound

        def compute(value: Any) -> bytes | None:
            if not isinstance(value, Asked):
                raise SealedColumnError(f"{compound.label} is asked by equal_together() or find_all() only")
            values: Any = value.value
            terms = compound_for(dialect, compound)
            plan = plan_in_use()
            plan.asked_together(terms)
            return terms.asked_term(compound.asked_values(values), plan.of_compound(terms))

        return compute


_types: "WeakKeyDictionary[CompoundColumn, AskedCompound]" = WeakKeyDictionary()


def asked_compound_type(compound: CompoundColumn) -> AskedCompound:
    """One object for each index: SQLAlchemy keeps what it makes of a type with the type."""
    kind = _types.get(compound)
    if kind is None:
        kind = _types[compound] = AskedCompound(compound)
    return kind


def equal_together(target: Any, index: str, values: Mapping[str, object]) -> ColumnElement[bool]:
    """The condition that a row's columns all equal the values, by column key, answered by an index over just those.

    target: a mapped class, an alias of one, or a table.
    Raises: SealedColumnError for a truncated or partial index, which find_all() asks; DefinitionError for no index.
    """
    selectable = target if isinstance(target, Table) else inspect(target).selectable
    base = getattr(selectable, "element", selectable)
    plan = plan_of(base)
    for compound in () if plan is None else plan.compounds:
        if compound.declared.name != index:
            continue
        if not compound.definition.answers_equality:
            raise SealedColumnError(
                f"{compound.label} is truncated or partial, and unequal rows share its terms: ask by find() or"
                " find_all(), which open and compare"
            )
        keys = [part.column.key for part in compound.parts]
        if set(values) != set(keys) or any(values[key] is None for key in keys):
            raise SealedColumnError(f"{compound.label} is asked for a value of each of its columns, {', '.join(keys)}")
        asked = Asked(tuple(values[key] for key in keys))
        term: ColumnElement[Any] = selectable.c[compound.term_column("a").key]
        return term == BindParameter(None, asked, type_=asked_compound_type(compound), unique=True)
    raise DefinitionError(f"there is no index {index!r} over several columns of {base}")
