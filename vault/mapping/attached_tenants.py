"""Attached tenants: an engine's vault whose keyring is chosen when a value is sealed, asked for or opened.

SQLAlchemy keeps what it makes of a type with the engine, for every tenant; so nothing that is kept has a key.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from vault.definitions.definition import FieldDefinition
from vault.errors import DefinitionError, OtherTenantError, TenantError, UnknownKeyError
from vault.field import Field
from vault.index.compound_terms import CompoundTerms
from vault.index.home import at_home
from vault.mapping.attached import Declared, DeclaredCompound, OpensFields
from vault.modes.mode import Mode

__all__ = ["AttachedTenants", "tenant_name"]

Row = Mapping[str, Any]


class OpensTenants(Protocol):
    """Gives what opens the fields of a tenant. in_force: the tenant of the running task or thread."""

    @property
    def in_force(self) -> str | None: ...

    def current(self) -> OpensFields: ...

    def vault(self, tenant: str) -> OpensFields: ...

    def home(self, name: str) -> OpensFields: ...


class AttachedTenants:
    """One engine's vault of tenants, and for each that is open the fields that the engine has used so far."""

    def __init__(self, opened: OpensTenants) -> None:
        self.opened = opened
        self._fields: WeakKeyDictionary[Any, WeakKeyDictionary[Declared, Field]] = WeakKeyDictionary()
        self._compounds: WeakKeyDictionary[Any, WeakKeyDictionary[DeclaredCompound, CompoundTerms]] = (
            WeakKeyDictionary()
        )

    def field(self, declared: Declared, tenant: str | None = None) -> Field:
        """By the keyring of the tenant that the row names, else of the one in force.

        Raises: TenantError when none is in force, OtherTenantError when the row is another's, KmsError.
        """
        vault = self._serving(tenant, declared.definition.table, declared.definition.column)
        return self._of(vault, declared, declared.definition)

    def asking(self, declared: Declared, home: str | None) -> Field:
        """Through an index of the tenant in force, or one that lives in a keyring of its own: then nobody need be.

        Raises: TenantError when nobody is and one must, KmsError.
        """
        if home is None:
            return self.field(declared)
        return self._of(self.opened.home(home), declared, at_home(declared.definition, home))

    def compound(self, declared: DeclaredCompound, tenant: str | None = None) -> CompoundTerms:
        """As field, for an index over several columns. Raises: as field."""
        vault = self._serving(tenant, *declared.definition.place)
        compounds = self._compounds.get(vault)
        if compounds is None:
            compounds = self._compounds[vault] = WeakKeyDictionary()
        found = compounds.get(declared)
        if found is None:
            found = compounds[declared] = vault.compound(declared.definition)
        return found

    has_migrating = False
    mode_changes = 0

    def mode(self, declared: Declared) -> Mode:
        """Raises: DefinitionError: a plaintext column has the rows of all tenants, each keyring modes of its own."""
        raise DefinitionError(
            f"{declared.definition.label} is migrating, on an engine with a vault of tenants: migrate it by an engine"
            " with one keyring"
        )

    def may_run(self, declared: Declared, mode: Mode) -> bool:
        return mode is self.mode(declared)

    def _of(self, vault: OpensFields, declared: Declared, definition: FieldDefinition) -> Field:
        fields = self._fields.get(vault)
        if fields is None:
            fields = self._fields[vault] = WeakKeyDictionary()
        found = fields.get(declared)
        if found is None:
            found = fields[declared] = vault.field(definition)
        return found

    def opener(self, declared: Declared) -> Callable[..., Any]:
        """The function chooses the field at each call."""
        column = declared.tenant
        named = None if column is None else column.name

        def open_value(sealed: Any, row: Row | None = None) -> Any:
            if sealed is None:
                return None
            tenant = None if named is None or row is None else tenant_name(row[named])
            field = self.field(declared, tenant)
            try:
                return field.open(sealed, row)
            except UnknownKeyError as error:
                if type(error) is not UnknownKeyError:  # retired or destroyed, so this tenant's
                    raise
                refusal = _not_its_key(error, tenant or self.opened.in_force)
            raise refusal

        return open_value

    def _serving(self, tenant: str | None, table: str, column: str) -> OpensFields:
        """That of the tenant that a row names, else of the one in force. table, column: for errors."""
        if tenant is None:
            return self.opened.current()
        in_force = self.opened.in_force
        if in_force is not None and in_force != tenant:
            raise OtherTenantError(
                f"the row is another tenant's than {in_force!r}, which is in force: ask for its rows alone",
                table,
                column,
            )
        return self.opened.vault(tenant)


def tenant_name(named: object) -> str:
    """The name of the tenant that a row's column names. Raises: TenantError for NULL and what is no name."""
    if isinstance(named, str | int | UUID) and str(named):
        return str(named)
    raise TenantError("a row's tenant column is NULL or empty: give it the tenant's name before the row is sealed")


def _not_its_key(error: UnknownKeyError, tenant: str | None) -> OtherTenantError:
    return OtherTenantError(
        f"names key {error.key_id}, which is not in the keyring of tenant {tenant!r}: another tenant's value, or"
        " changed bytes",
        error.table,
        error.column,
    )
