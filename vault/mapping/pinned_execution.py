"""Pinned execution: SQLAlchemy's execution context of an engine with a vault, in which one statement keeps one plan.

It is made when values are bound, and lives until the last row is read, however often the driver is called.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from typing import Any

from sqlalchemy import Insert
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.dml import ValuesBase

from vault.mapping.statement_plan import PLAN, Handed, StatementPlan, in_use

__all__ = ["SLOTTED", "PinnedExecution", "keep_to_one_plan", "with_plan"]

SLOTTED = "_noisevault_slotted"
"""The attribute of a compiled statement that has places for the slot, which slotted_text.py fills in."""


class PinnedExecution:
    """Mixed into the dialect's own class."""

    noisevault_plan: StatementPlan | None = None

    @classmethod
    def _init_compiled(cls, *given: Any, **named: Any) -> Any:
        """given: dialect, connection, driver's connection, execution options, compiled, rows, statement; and more."""
        compiled = given[4]
        plan = None
        if compiled.isinsert or compiled.isupdate:
            handed: Handed | None = given[6]._execution_options.get(PLAN)
            plan = None if handed is None else handed.take()
        if SLOTTED not in compiled.__dict__:
            return super()._init_compiled(*given, **named)  # type: ignore[misc]
        if plan is None:
            plan = given[3].get(PLAN) or StatementPlan()
        before = in_use.set(plan)
        try:
            context = super()._init_compiled(*given, **named)  # type: ignore[misc]
        finally:
            in_use.reset(before)
        context.noisevault_plan = plan
        return context


def with_plan(changed: ValuesBase, given: ValuesBase, of_statement: StatementPlan) -> ValuesBase:
    """A sealed statement with its plan, found again when values are bound.

    given: what it was before. An INSERT whose rows alone were changed asks nothing.
    """
    if changed is given and isinstance(changed, Insert) and not changed._returning:
        return changed
    return changed.execution_options(**{PLAN: Handed(of_statement)})


def keep_to_one_plan(dialect: Dialect) -> None:
    """Let the statements of the dialect's engine keep to one plan each."""
    usual = dialect.execution_ctx_cls
    if not issubclass(usual, PinnedExecution):
        dialect.execution_ctx_cls = type(f"Pinned{usual.__name__}", (PinnedExecution, usual), {})
