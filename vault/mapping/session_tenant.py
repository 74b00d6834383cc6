"""Session's tenant: the first tenant that a session is used under is its own, for good.

A session sends what was changed at another moment than when it was changed. Used under a second tenant it would seal
the first one's objects by the second one's keys, as when a query flushes them before it is sent.
"""

import threading
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import ORMExecuteState, Session

from vault.errors import TenantError
from vault.mapping.attached import attached_to
from vault.mapping.attached_tenants import AttachedTenants, OpensTenants

__all__ = ["install_session_hooks"]

_installing = threading.Lock()
_pins: "WeakKeyDictionary[Session, WeakKeyDictionary[Any, str]]" = WeakKeyDictionary()
_sessions: "WeakKeyDictionary[Connection, WeakSet[Session]]" = WeakKeyDictionary()
TWO_TENANTS: Final = (
    "this session belongs to tenant {0!r}, under which it was first used: use another session for tenant {1!r}"
)


def install_session_hooks() -> None:
    """Install all hooks, once a process: when the first vault of tenants is attached."""
    with _installing:
        if event.contains(Session, "after_begin", _note_connection):
            return
        event.listen(Session, "before_attach", _before_attach)
        event.listen(Session, "before_flush", _before_flush)
        event.listen(Session, "do_orm_execute", _before_query)
        event.listen(Session, "after_begin", _note_connection)
        event.listen(Engine, "before_execute", _before_statement)


def _before_attach(session: Session, instance: Any) -> None:
    """An object joins the session: it will be sealed when it is flushed, which may be much later."""
    _refuse_another(session)
    _pin(session, _tenants_of(session, {"mapper": type(instance)}))


def _before_flush(session: Session, _context: Any, _instances: Any) -> None:
    _refuse_another(session)


def _before_query(state: ORMExecuteState) -> None:
    """Before a query, and before what it flushes; lazy loads and refreshed objects come this way too."""
    _refuse_another(state.session)
    _pin(state.session, _tenants_of(state.session, state.bind_arguments))


def _note_connection(session: Session, _transaction: Any, connection: Connection) -> None:
    _sessions.setdefault(connection, WeakSet()).add(session)


def _before_statement(connection: Connection, *_statement: Any) -> None:
    """What a session sends by other ways: its connection(), and the bulk methods."""
    sessions = _sessions.get(connection)
    if sessions is None:
        return
    using = [session for session in sessions if session.in_transaction()]
    if len(using) == 1:  # of several on one connection, nobody knows which it is: the ORM's own ways were looked at
        _refuse_another(using[0])
        attached = attached_to(connection.dialect)
        _pin(using[0], attached.opened if isinstance(attached, AttachedTenants) else None)


def _tenants_of(session: Session, bind_arguments: Any) -> OpensTenants | None:
    """The vault of tenants of the engine that the session would use."""
    try:
        attached = attached_to(session.get_bind(**bind_arguments).dialect)
    except (SQLAlchemyError, TypeError):  # a session that chooses its engine in its own way: told by its connection
        return None
    return attached.opened if isinstance(attached, AttachedTenants) else None


def _pin(session: Session, tenants: OpensTenants | None) -> None:
    if tenants is None or tenants.in_force is None:
        return
    _pins.setdefault(session, WeakKeyDictionary()).setdefault(tenants, tenants.in_force)


def _refuse_another(session: Session) -> None:
    """Raises: TenantError when a tenant is in force that is not the session's."""
    for tenants, pinned in _pins.get(session, {}).items():
        in_force = tenants.in_force
        if in_force is not None and in_force != pinned:
            raise TenantError(TWO_TENANTS.format(pinned, in_force))
