"""Slotted text: SQL in which the name of a term column is a token, replaced when the statement runs.

SQLAlchemy keeps compiled statements, and what they are found by; so the slot cannot be chosen there. A token is no SQL,
and no database takes it. Statements that are compiled to be shown have the column of slot a instead.
"""

import re
import secrets
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import NO_LINTING, SQLCompiler

from vault.definitions.index_slot import SLOTS, Slot
from vault.errors import SealedColumnError
from vault.mapping.pinned_execution import SLOTTED
from vault.mapping.read_by_mode import refuse_unread
from vault.mapping.statement_plan import StatementPlan
from vault.mapping.table_plan import AskedPlace, plan_of
from vault.mapping.term_column import TermColumn, is_as_stored, term_table

__all__ = ["filled_in", "shown"]

# Nothing that is sent as text, such as a literal, has it by chance or by intent.
_OURS: Final = secrets.token_hex(4)
_TOKEN: Final = re.compile(r"\{([^{}]*)~" + _OURS + r"\d+\}")
NOT_PINNED: Final = (
    "this engine's execution context is not the vault's any more, so that the column of an index cannot be chosen: set"
    " dialect.execution_ctx_cls before vault.attach(engine, opened)"
)


@dataclass(slots=True)
class Slotted:
    """What a compiled statement has in it: tokens, each with its index and the names by slot. texts: by the slots."""

    tokens: dict[tuple[AskedPlace, str], str] = field(default_factory=dict)
    names: list[tuple[str, AskedPlace, dict[Slot, str]]] = field(default_factory=list)
    texts: dict[tuple[Slot, ...], str] = field(default_factory=dict)


@compiles(TermColumn)
def _term_column(column: TermColumn, compiler: SQLCompiler, **kw: Any) -> str:
    refuse_unread(column, compiler, as_result=bool(kw.get("within_columns_clause")))
    text: str = compiler.visit_column(column, **kw)
    # Only the engine compiles with warnings; whoever asks for a text compiles without.
    if compiler.linting == NO_LINTING or is_as_stored(column):
        return text
    plan = plan_of(term_table(column.table))
    place = None if plan is None else plan.asked.get(column.key)
    if place is None:
        return text
    name = compiler.preparer.quote(column.name)
    return text[: len(text) - len(name)] + _token(compiler, place, name)


def _token(compiler: SQLCompiler, place: AskedPlace, name: str) -> str:
    slotted: Slotted = compiler.__dict__.setdefault(SLOTTED, Slotted())
    token = slotted.tokens.get((place, name))
    if token is None:
        token = slotted.tokens[place, name] = f"{{{name}~{_OURS}{len(slotted.tokens)}}}"
        quote = compiler.preparer.quote
        slotted.names.append((token, place, {slot: quote(place.term_column(slot).name) for slot in SLOTS}))
    return token


def filled_in(text: str, compiled: SQLCompiler, plan: StatementPlan | None, dialect: Dialect) -> str:
    """The text that is sent: with the columns that the plan asks.

    text: of the compiled statement, or of a part of it, as where rows are inserted in several batches.
    Raises: SealedColumnError, TenantError, KmsError.
    """
    slotted: Slotted | None = compiled.__dict__.get(SLOTTED)
    if slotted is None:
        return text
    if plan is None:
        raise SealedColumnError(NOT_PINNED)
    slots = tuple([place.asked(plan, dialect) for _, place, _ in slotted.names])
    whole = text is compiled.string
    if whole and slots in slotted.texts:
        return slotted.texts[slots]
    filled = text
    for (token, _, names), slot in zip(slotted.names, slots, strict=True):
        filled = filled.replace(token, names[slot])
    if whole:
        slotted.texts[slots] = filled
    return filled


def shown(text: str) -> str:
    """The text without tokens, for an error that came before there was a plan."""
    return _TOKEN.sub(r"\1", text)
