"""Compiled modes: in which mode of each migrating field a statement was compiled, and whether it may still run so.

SQLAlchemy keeps compiled statements, and a mode changes while they are kept. A statement asks and reads in one mode
from its SQL text to its last row, so the choice is made when it is compiled and looked at each time before it is sent:
what was compiled before a change is forgotten, and what was on its way runs as long as the lease of its mode lasts.
"""

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection
from sqlalchemy.engine import Compiled, Dialect

from vault.errors import ModeChangedError
from vault.mapping.attached import attached_to
from vault.mapping.sealed_column import SealedColumn
from vault.modes.mode import Mode

__all__ = ["forget_outdated", "mode_in_force", "mode_of_compiled", "refuse_outdated"]

_compiled_in: "WeakKeyDictionary[Compiled, dict[SealedColumn, Mode]]" = WeakKeyDictionary()
_seen_changes: "WeakKeyDictionary[Dialect, int]" = WeakKeyDictionary()


def mode_in_force(dialect: Dialect, sealed: SealedColumn) -> Mode:
    """The field's mode now; without migrating= in the declaration it is sealed-only, whatever is recorded.

    Raises: KmsError where it is not known within the lease.
    """
    attached = attached_to(dialect) if sealed.plaintext is not None else None
    return Mode.SEALED_ONLY if attached is None else attached.mode(sealed)


def mode_of_compiled(compiled: Compiled, sealed: SealedColumn) -> Mode:
    """The mode that a statement is compiled in: that in force when it first meets the field.

    Raises: as mode_in_force.
    """
    modes = _compiled_in.setdefault(compiled, {})
    mode = modes.get(sealed)
    if mode is None:
        mode = modes[sealed] = mode_in_force(compiled.dialect, sealed)
    return mode


def forget_outdated(connection: Connection) -> None:
    """Before a statement is compiled or found compiled: what the engine kept from before a change is dropped."""
    attached = attached_to(connection.dialect)
    changes = 0 if attached is None else attached.mode_changes
    if changes != _seen_changes.get(connection.dialect, 0):
        connection.engine.clear_compiled_cache()
        _seen_changes[connection.dialect] = changes


def refuse_outdated(connection: Connection, context: Any) -> None:
    """Before a statement is sent. Raises: ModeChangedError for one that was compiled in a mode that ended."""
    modes = _compiled_in.get(context.compiled)
    attached = None if modes is None else attached_to(connection.dialect)
    if modes is None or attached is None:
        return
    for sealed, mode in modes.items():
        if mode is attached.mode(sealed):
            continue
        connection.engine.clear_compiled_cache()
        kept = context.execution_options.get("compiled_cache")  # of the application's own
        if kept is not None:
            kept.clear()
        if not attached.may_run(sealed, mode):
            raise ModeChangedError(sealed.definition.table, sealed.definition.column, mode.value)
