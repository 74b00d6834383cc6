"""The vault: sealed fields in SQLAlchemy, looked up by blind index, opened only where the keys are.

A public name is imported when it is first used (PEP 562), so that nobody waits for what is not used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # what the table below says, for type checkers and editors
    from vault.attaching import attach
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

_PLACES: Final = {
    "vault.attaching": ("attach",),
    "vault.codec": ("Codec",),
    "vault.codecs.own": ("register_codec",),
    "vault.definitions.definition": ("FieldDefinition",),
    "vault.definitions.row_context": ("BoundColumn",),
    "vault.errors": (
        "CannotOpenError",
        "DefinitionChangedError",
        "DefinitionError",
        "DestroyedKeyError",
        "FieldError",
        "ImportRefusedError",
        "IndexChangedError",
        "InvalidValueError",
        "JobIncompleteError",
        "ModeChangedError",
        "NotSealedError",
        "OtherTenantError",
        "PolicyError",
        "RetiredKeyError",
        "RowBindingError",
        "SealedColumnError",
        "TenantError",
        "UnknownGenerationError",
        "UnknownKeyError",
        "VaultError",
    ),
    "vault.field": ("Field",),
    "vault.mapping": (
        "AnyInteger",
        "Coded",
        "CompoundIndex",
        "Found",
        "Sealed",
        "definition_of",
        "equal_together",
        "find",
        "find_all",
        "sealed_columns",
        "term_columns",
        "via",
    ),
    "vault.normalise": ("casefold", "digits", "exact", "trimmed"),
    "vault.normalisers.email_address": ("email", "email_domain"),
    "vault.normalisers.own": ("register_normaliser",),
    "vault.normalisers.parts": ("last_four", "month", "year"),
    "vault.normalisers.phone_number": ("phone",),
    "vault.opened": ("OpenedVault", "open_vault"),
    "vault.tenants": ("TenantVaults", "open_tenants"),
    "vault.terms.slow": ("Argon2id",),
    "vault.terms.term": ("BlindIndex",),
}
_PLACE_OF: Final = {name: module for module, names in _PLACES.items() for name in names}

if not TYPE_CHECKING:  # who checks types is told of a name that there is not

    def __getattr__(name: str) -> Any:
        if name not in _PLACE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_PLACE_OF[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
