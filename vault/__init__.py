"""The vault: sealed fields in SQLAlchemy, looked up by blind index, opened only where the keys are."""

from vault.attach import attach
from vault.codec import Codec
from vault.codecs.own import register_codec
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import BoundColumn
from vault.errors import (
    CannotOpenError,
    DefinitionChangedError,
    DefinitionError,
    DestroyedKeyError,
    FieldError,
    ImportRefusedError,
    IndexChangedError,
    InvalidValueError,
    JobIncompleteError,
    ModeChangedError,
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
from vault.mapping import (
    AnyInteger,
    Coded,
    CompoundIndex,
    Found,
    Sealed,
    definition_of,
    equal_together,
    find,
    find_all,
    sealed_columns,
    term_columns,
    via,
)
from vault.normalise import casefold, digits, exact, trimmed
from vault.normalisers.email_address import email, email_domain
from vault.normalisers.own import register_normaliser
from vault.normalisers.parts import last_four, month, year
from vault.normalisers.phone_number import phone
from vault.opened import OpenedVault, open_vault
from vault.tenants import TenantVaults, open_tenants
from vault.terms.slow import Argon2id
from vault.terms.term import BlindIndex

__all__ = [
    "AnyInteger",
    "Argon2id",
    "BlindIndex",
    "BoundColumn",
    "CannotOpenError",
    "Codec",
    "Coded",
    "CompoundIndex",
    "DefinitionChangedError",
    "DefinitionError",
    "DestroyedKeyError",
    "Field",
    "FieldDefinition",
    "FieldError",
    "Found",
    "ImportRefusedError",
    "IndexChangedError",
    "InvalidValueError",
    "JobIncompleteError",
    "ModeChangedError",
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
    "email",
    "email_domain",
    "equal_together",
    "exact",
    "find",
    "find_all",
    "last_four",
    "month",
    "open_tenants",
    "open_vault",
    "phone",
    "register_codec",
    "register_normaliser",
    "sealed_columns",
    "term_columns",
    "trimmed",
    "via",
    "year",
]
