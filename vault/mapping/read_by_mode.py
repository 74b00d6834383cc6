"""Reading by mode: a migrating field's column is rendered as the column that holds its values in the mode in force.

Wherever SQL is made of it, in subqueries, aliases, RETURNING and IS NULL, the sealed column of a table is compiled as
the plaintext one while that is read; what stands outside of a subquery goes on under the sealed column's name. The type
of the result is chosen with it, so that what is read is opened in the sealed modes and never in the others.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, LargeBinary
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import TypeDecorator

from vault.errors import DefinitionError, SealedColumnError
from vault.mapping.beside import of_row
from vault.mapping.compiled_modes import mode_of_compiled
from vault.mapping.declared_type import snapshot
from vault.mapping.sealed_column import Declaration, SealedColumn
from vault.mapping.term_column import is_as_stored, is_as_target
from vault.mapping.term_type import Term
from vault.modes.mode import Mode

__all__ = ["ReadByMode", "install_column_hook", "refuse_unread", "require_column_hook"]


class ReadByMode(ColumnElement[Any]):
    """A result column: alone, or packed with what it is bound to. Made when a statement is compiled, for that one."""

    inherit_cache = False

    def __init__(self, owner: SealedColumn, alone: "ColumnElement[Any]", packed: "ColumnElement[Any]") -> None:
        self.owner = owner
        self.alone = alone
        self.packed = packed
        self.told: list[Mode] = []
        self.type = ResultByMode(owner, self.told)

    @property
    def _from_objects(self) -> list[Any]:
        return self.alone._from_objects


class ResultByMode(TypeDecorator[Any]):
    """The type of such a column. Its mode is told when the column is rendered, before a row is read."""

    impl = LargeBinary
    cache_ok = False

    def __init__(self, owner: SealedColumn, told: list[Mode]) -> None:
        super().__init__()
        self.owner = owner
        self.told = told  # shared with the copies that SQLAlchemy makes for a dialect

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        if self.told[-1].reads_sealed:
            return self.owner.type.result_processor(dialect, coltype)
        plaintext = self.owner.plaintext_type
        read = plaintext.dialect_impl(dialect).result_processor(dialect, coltype)
        keep = snapshot(self.owner.type.stored)
        if read is None or keep is None:
            return read or keep
        return lambda value: keep(read(value))


@compiles(ReadByMode)
def _read(element: ReadByMode, compiler: SQLCompiler, **kw: Any) -> str:
    require_column_hook()
    mode = mode_of_compiled(compiler, element.owner)
    element.told.append(mode)
    inner = {**kw, "add_to_result_map": None, "within_columns_clause": False}
    return compiler.process(element.packed if mode.reads_sealed else element.alone, **inner)


def install_column_hook() -> None:
    """Let columns be rendered by mode, once a process: when the first migrating field is declared.

    Raises: DefinitionError where the application renders columns by @compiles(Column) itself.
    """
    if "_compiler_dispatcher" not in Column.__dict__:
        compiles(Column)(_column)
    require_column_hook()


def require_column_hook() -> None:
    """Raises: DefinitionError unless columns are rendered here: else the wrong one of two would be read."""
    specs = getattr(Column.__dict__.get("_compiler_dispatcher"), "specs", {})
    if specs != {"default": _column}:
        raise DefinitionError(
            "the application renders columns by @compiles(Column), as the vault does while a field migrates: leave that"
            " out, or compile a subclass of Column"
        )


def refuse_unread(column: Any, compiler: Any, *, as_result: bool) -> None:
    """A term column that a statement names, otherwise than among its results, while plaintext is read.

    Raises: SealedColumnError: rows that were not sealed yet have no terms.
    """
    owner: SealedColumn | None = getattr(column.type, "owner", None)
    if owner is None or owner.plaintext is None or as_result or is_as_stored(column) or is_as_target(column):
        return
    if _plaintext_read(column, compiler, owner) is not None:
        raise SealedColumnError(
            f"{column.name} is named in a statement, and {owner.label} is read from {owner.plaintext.name} until its"
            " mode is dual-read-sealed: until then ask the column itself"
        )


def _plaintext_read(column: Any, compiler: Any, owner: SealedColumn) -> "ColumnElement[Any] | None":
    """What is read in place of a migrating field's column; None where that is read itself."""
    plain = None
    if owner.plaintext is not None and compiler.statement is not None:  # a DDL compiler's has none
        plain = of_row(column, owner.plaintext)
    return None if plain is None or mode_of_compiled(compiler, owner).reads_sealed else plain


def _column(column: Any, compiler: Any, **kw: Any) -> str:
    kind = column.type
    if isinstance(kind, Term):
        refuse_unread(column, compiler, as_result=bool(kw.get("within_columns_clause")))
    elif isinstance(kind, Declaration) and kind.owner is not None and not is_as_stored(column):
        plain = _plaintext_read(column, compiler, kind.owner)
        column = column if plain is None else plain
    return str(compiler.visit_column(column, **kw))
