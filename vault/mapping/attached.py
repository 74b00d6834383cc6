"""Attached vault: whose keys serve the statements of an engine.

The association is kept by the engine's dialect, of which there is one an engine, and which every processor and
hook is handed. So neither types nor statements hold a key.
"""

import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from sqlalchemy.engine import Dialect

from vault.errors import SealedColumnError

if TYPE_CHECKING:
    from vault.definition import FieldDefinition
    from vault.field import Field

__all__ = ["AttachedVault", "attached_to", "bind_vault", "field_for"]


class OpensFields(Protocol):
    """What is attached: gives the field, with its keys, of a definition."""

    def field(self, definition: "FieldDefinition") -> "Field": ...


class Declared(Hashable, Protocol):
    """A declared field: knows its definition."""

    @property
    def definition(self) -> "FieldDefinition": ...


class AttachedVault:
    """One engine's vault and the fields that it has opened so far."""

    def __init__(self, opened: OpensFields) -> None:
        self.opened = opened
        self._fields: WeakKeyDictionary[Declared, Field] = WeakKeyDictionary()

    def field(self, declared: Declared) -> "Field":
        found = self._fields.get(declared)
        if found is None:
            found = self._fields[declared] = self.opened.field(declared.definition)
        return found


_attached: "WeakKeyDictionary[Dialect, AttachedVault]" = WeakKeyDictionary()
_attaching = threading.Lock()


def bind_vault(dialect: Dialect, opened: OpensFields) -> None:
    """Let opened serve the engine of dialect, for good. Raises: SealedColumnError where another one does."""
    with _attaching:
        known = _attached.get(dialect)
        if known is None:
            _attached[dialect] = AttachedVault(opened)
        elif known.opened is not opened:
            raise SealedColumnError("this engine is attached to another vault: create an engine for each vault")


def attached_to(dialect: Dialect) -> AttachedVault | None:
    """The engine's vault, if it has one."""
    return _attached.get(dialect)


def field_for(dialect: Dialect, declared: Declared) -> "Field":
    """The field, with the keys of the engine's vault. Raises: SealedColumnError when nothing is attached."""
    vault = _attached.get(dialect)
    if vault is None:
        raise SealedColumnError(
            f"{declared.definition.label} is sealed, this engine has no vault: call vault.attach(engine, opened) first"
        )
    return vault.field(declared)
