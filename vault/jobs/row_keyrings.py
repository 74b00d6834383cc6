"""Row keyrings: whose keyring serves a value of a table's row, so that a job takes each under its own tenant's key."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Table

from kms import KeyringError, KeyringState, Purpose
from vault.definition_store import bound_names_of_all
from vault.definitions.definition import FieldDefinition
from vault.errors import TenantError
from vault.field import Field
from vault.mapping.attached_tenants import tenant_name
from vault.mapping.definitions import definition_of, sealed_columns
from vault.mapping.sealed_column import Declaration
from vault.opened import OpenedVault
from vault.sealed.envelope import HEADER_BYTES, looks_sealed
from vault.tenants import TenantVaults

__all__ = ["OneKeyring", "RowKeyrings", "TenantKeyrings", "row_keyrings"]

KEY_ID = slice(2, HEADER_BYTES)
NOBODYS = "names no key of a keyring of this store: written under another store's keyring, or changed bytes"


class RowKeyrings(Protocol):
    """tenant_columns: by sealed column, the plain column that names the tenant of its row."""

    @property
    def tenant_columns(self) -> dict[str, str]: ...

    @property
    def is_one(self) -> bool:
        """Whether one field serves all rows of a column."""
        ...

    def refresh(self) -> None:
        """See at once what another process rotated. Raises: KmsError."""
        ...

    def states(self) -> Sequence[KeyringState]:
        """Of all keyrings that may serve a row, as the store has them. Raises: KmsError."""
        ...

    def bound_names(self, column: str) -> tuple[str, ...]:
        """The columns that a generation of the column's field is bound to."""
        ...

    def field(self, column: str, stored: Any, tenant: Any) -> Field | str:
        """What opens a stored value, and seals it anew; or why nothing does. Raises: KmsError."""
        ...


def keys_goal(states: Sequence[KeyringState]) -> str:
    """One word for all active data keys."""
    active = [state.active(Purpose.DATA) for state in states]
    ids = sorted(record.key_id.hex() for record in active if record is not None)
    return hashlib.sha256(" ".join(ids).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class OneKeyring:
    """One field a column."""

    fields: dict[str, Field]
    tenant_columns: dict[str, str] = field(default_factory=dict)
    is_one: bool = True

    def refresh(self) -> None:
        for keyring in {id(one.keyring): one.keyring for one in self.fields.values()}.values():
            keyring.records()

    def states(self) -> list[KeyringState]:
        keyrings = {id(one.keyring): one.keyring for one in self.fields.values()}.values()
        return [KeyringState(keyring.id, keyring.name, tuple(keyring.records())) for keyring in keyrings]

    def bound_names(self, column: str) -> tuple[str, ...]:
        return self.fields[column].bound_names

    def field(self, column: str, stored: Any, tenant: Any) -> Field | str:  # noqa: ARG002
        return self.fields[column]


@dataclass(slots=True)
class TenantKeyrings:
    """By the tenant that the row names; where it names none, by the keyring whose key the value names."""

    vaults: TenantVaults
    definitions: dict[str, FieldDefinition]
    tenant_columns: dict[str, str]
    is_one: bool = False
    _owners: dict[bytes, str] = field(default_factory=dict)
    _served: dict[str, Any] = field(default_factory=dict)

    def refresh(self) -> None:
        self._owners = {record.key_id: state.name for state in self.states() for record in state.of(Purpose.DATA)}
        for vault in self._served.values():
            vault.keyring.records()
        self._served = {}

    def states(self) -> list[KeyringState]:
        return self.vaults.key_store.load_all()

    def bound_names(self, column: str) -> tuple[str, ...]:
        return bound_names_of_all(self.vaults.key_store.engine, self.definitions[column])

    def field(self, column: str, stored: Any, tenant: Any) -> Field | str:
        name = None
        if column not in self.tenant_columns:
            name = self._owners.get(stored[KEY_ID]) if looks_sealed(stored) else None
            if name is None:
                return NOBODYS
        try:
            name = tenant_name(tenant) if name is None else name
            vault = self._served[name] = self.vaults.vault(name)
        except (TenantError, KeyringError) as error:
            return str(error)
        return vault.field(self.definitions[column])


def row_keyrings(table: Table, opened: OpenedVault | TenantVaults) -> RowKeyrings:
    """For the sealed columns of a mapped table. Raises: DefinitionChangedError, KmsError."""
    columns = sealed_columns(table)
    definitions = {column.name: definition_of(column) for column in columns}
    if isinstance(opened, OpenedVault):
        return OneKeyring({name: opened.field(definition) for name, definition in definitions.items()})
    tenants: dict[str, str] = {}
    for column in columns:
        kind = column.type
        if isinstance(kind, Declaration) and kind.owner is not None and kind.owner.tenant is not None:
            tenants[column.name] = kind.owner.tenant.name
    return TenantKeyrings(opened, definitions, tenants)
