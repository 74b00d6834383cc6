"""The vault: sealed fields in SQLAlchemy, looked up by blind index, opened only where the keys are."""

from vault.attach import attach
from vault.codec import Codec
from vault.codecs.own import register_codec
from vault.definition import FieldDefinition
from vault.errors import (
    CannotOpenError,
    DefinitionChangedError,
    DefinitionError,
    DestroyedKeyError,
    FieldError,
    ImportRefusedError,
    InvalidValueError,
    JobIncompleteError,
    NotSealedError,
    OtherTenantError,
    PolicyError,
    RetiredKeyError,
    RowBindingError,
    SealedColumnError,
    TenantError,
    UnknownGenerationError,
    UnknownKeyError,
    VaultError,
)
from vault.field import Field
from vault.mapping import AnyInteger, Coded, Sealed, definition_of, sealed_columns, term_columns
from vault.normalise import casefold, digits, exact, trimmed
from vault.opened import OpenedVault, open_vault
from vault.row_context import BoundColumn
from vault.tenants import TenantVaults, open_tenants
from vault.term import BlindIndex

__all__ = [
    "AnyInteger",
    "BlindIndex",
    "BoundColumn",
    "CannotOpenError",
    "Codec",
    "Coded",
    "DefinitionChangedError",
    "DefinitionError",
    "DestroyedKeyError",
    "Field",
    "FieldDefinition",
    "FieldError",
    "ImportRefusedError",
    "InvalidValueError",
    "JobIncompleteError",
    "NotSealedError",
    "OpenedVault",
    "OtherTenantError",
    "PolicyError",
    "RetiredKeyError",
    "RowBindingError",
    "Sealed",
    "SealedColumnError",
    "TenantError",
    "TenantVaults",
    "UnknownGenerationError",
    "UnknownKeyError",
    "VaultError",
    "attach",
    "casefold",
    "definition_of",
    "digits",
    "exact",
    "open_tenants",
    "open_vault",
    "register_codec",
    "sealed_columns",
    "term_columns",
    "trimmed",
]
