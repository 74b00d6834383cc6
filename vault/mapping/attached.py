"""Attached vault: whose keys serve the statements of an engine.

The association is kept by the engine's dialect, of which there is one an engine, and which every processor and
hook is handed. So neither types nor statements hold a key.
"""

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from sqlalchemy.engine import Dialect

from vault.errors import SealedColumnError
from vault.mapping.pinned_execution import keep_to_one_plan
from vault.modes.mode import Mode, Modes

if TYPE_CHECKING:
    from sqlalchemy import Column

    from vault.definitions.definition import FieldDefinition
    from vault.definitions.index_definition import CompoundDefinition
    from vault.field import Field
    from vault.index.compound_terms import CompoundTerms

__all__ = ["AttachedVault", "asking_for", "attached_to", "bind_vault", "compound_for", "field_for", "opener_for"]


class OpensFields(Protocol):
    """What is attached: gives the field, with its keys, of a definition."""

    def field(self, definition: "FieldDefinition") -> "Field": ...

    def compound(self, definition: "CompoundDefinition") -> "CompoundTerms": ...

    @property
    def modes(self) -> Modes: ...


class Declared(Hashable, Protocol):
    """A declared field: knows its definition, which column of the row names a tenant, and which holds its plaintext."""

    @property
    def definition(self) -> "FieldDefinition": ...

    @property
    def plaintext(self) -> "Column[Any] | None": ...

    @property
    def tenant(self) -> "Column[Any] | None": ...


class DeclaredCompound(Hashable, Protocol):
    """A declared index over several columns: knows its definition, and which column of the row names a tenant."""

    @property
    def definition(self) -> "CompoundDefinition": ...

    @property
    def tenant(self) -> "Column[Any] | None": ...


class Attached(Protocol):
    """One engine's vault, of one keyring or of tenants."""

    @property
    def opened(self) -> object: ...

    def field(self, declared: Declared, tenant: str | None = None) -> "Field":
        """By which a value is sealed; tenant: that of the row, where the field is so declared."""
        ...

    def asking(self, declared: Declared, home: str | None) -> "Field":
        """By which a value is asked for, through an index that lives in the keyring called home, or in the field's."""
        ...

    def compound(self, declared: DeclaredCompound, tenant: str | None = None) -> "CompoundTerms":
        """What makes the terms over several columns; tenant: as of field."""
        ...

    @property
    def has_migrating(self) -> bool:
        """Whether a migrating field was used on the engine."""
        ...

    @property
    def mode_changes(self) -> int:
        """As of Modes.changes."""
        ...

    def mode(self, declared: Declared) -> Mode:
        """The mode in force of a migrating field. Raises: KmsError."""
        ...

    def may_run(self, declared: Declared, mode: Mode) -> bool:
        """As of Modes.may_run."""
        ...

    def opener(self, declared: Declared) -> Callable[..., Any]:
        """A function from a sealed value, perhaps with its row, to the value. It may be kept for the engine's life."""
        ...


class AttachedVault:
    """One engine's vault and the fields that it has opened so far."""

    def __init__(self, opened: OpensFields) -> None:
        self.opened = opened
        self.has_migrating = False
        self._fields: WeakKeyDictionary[Declared, Field] = WeakKeyDictionary()
        self._compounds: WeakKeyDictionary[DeclaredCompound, CompoundTerms] = WeakKeyDictionary()

    def field(self, declared: Declared, tenant: str | None = None) -> "Field":  # noqa: ARG002
        found = self._fields.get(declared)
        if found is None:
            _refuse_tenants(declared)
            if declared.plaintext is not None:
                self.mode(declared)  # which is recorded before the field is
            found = self._fields[declared] = self.opened.field(declared.definition)
        return found

    def asking(self, declared: Declared, home: str | None) -> "Field":  # noqa: ARG002
        return self.field(declared)

    def compound(self, declared: DeclaredCompound, tenant: str | None = None) -> "CompoundTerms":  # noqa: ARG002
        found = self._compounds.get(declared)
        if found is None:
            _refuse_tenants(declared)
            found = self._compounds[declared] = self.opened.compound(declared.definition)
        return found

    @property
    def mode_changes(self) -> int:
        return self.opened.modes.changes

    def mode(self, declared: Declared) -> Mode:
        self.has_migrating = True
        return self.opened.modes.mode(declared.definition)

    def may_run(self, declared: Declared, mode: Mode) -> bool:
        return self.opened.modes.may_run(declared.definition, mode)

    def opener(self, declared: Declared) -> Callable[..., Any]:
        return self.field(declared).open


def _refuse_tenants(declared: Declared | DeclaredCompound) -> None:
    if declared.tenant is not None:
        raise SealedColumnError(
            f"{declared.definition.label} takes its tenant from {declared.tenant.name}, and this engine's vault"
            " has one keyring for all: attach what open_tenants() gives"
        )


_attached: "WeakKeyDictionary[Dialect, Attached]" = WeakKeyDictionary()
_attaching = threading.Lock()


def bind_vault(dialect: Dialect, attached: Attached) -> None:
    """Let attached serve the engine of dialect, for good. Raises: SealedColumnError where another vault does."""
    with _attaching:
        known = _attached.get(dialect)
        if known is None:
            keep_to_one_plan(dialect)
            _attached[dialect] = attached
        elif known.opened is not attached.opened:
            raise SealedColumnError("this engine is attached to another vault: create an engine for each vault")


def attached_to(dialect: Dialect) -> Attached | None:
    """The engine's vault, if it has one."""
    return _attached.get(dialect)


def field_for(dialect: Dialect, declared: Declared, tenant: str | None = None) -> "Field":
    """The field, with the keys of the engine's vault. Raises: SealedColumnError when none is attached, TenantError."""
    return _required(dialect, declared).field(declared, tenant)


def compound_for(dialect: Dialect, declared: DeclaredCompound, tenant: str | None = None) -> "CompoundTerms":
    """The index over several columns, with the keys of the engine's vault. Raises: as field_for."""
    return _required(dialect, declared).compound(declared, tenant)


def asking_for(dialect: Dialect, declared: Declared, home: str | None) -> "Field":
    """The field that makes terms to look for. Raises: as field_for."""
    return _required(dialect, declared).asking(declared, home)


def opener_for(dialect: Dialect, declared: Declared) -> Callable[..., Any]:
    """What opens the field's values, by the engine's vault. Raises: SealedColumnError when nothing is attached."""
    return _required(dialect, declared).opener(declared)


def _required(dialect: Dialect, declared: Declared | DeclaredCompound) -> Attached:
    attached = _attached.get(dialect)
    if attached is None:
        raise SealedColumnError(
            f"{declared.definition.label} is sealed, this engine has no vault: call vault.attach(engine, opened) first"
        )
    return attached
