"""Attaching: the one wiring call, which says whose keys serve an engine."""

import os
from typing import Any

from sqlalchemy import Engine, MetaData

from kms.errors import MisconfiguredError
from vault.databases.announcing import announce
from vault.databases.database_register import DatabaseRegister
from vault.errors import DefinitionError
from vault.mapping.attached import AttachedVault, OpensFields, bind_vault
from vault.mapping.attached_tenants import AttachedTenants
from vault.mapping.compound_index import compounds_of
from vault.mapping.definitions import definition_of, is_migrating, sealed_columns
from vault.mapping.hooks import install_hooks
from vault.mapping.session_tenant import install_session_hooks
from vault.opened import OpenedVault
from vault.tenants import TenantVaults

__all__ = ["attach"]


def attach(engine: Any, opened: OpensFields | TenantVaults, metadata: MetaData | None = None) -> None:
    """Let opened seal and open for engine (an Engine or AsyncEngine), for as long as the engine lives.

    metadata: when given, all its sealed columns and indexes are registered now, so that a start-up stops at one that is
    not defined as its data was written. With vaults of tenants they are registered when a tenant's keyring is opened.
    Raises: SealedColumnError for an engine that another vault serves; DefinitionChangedError, IndexChangedError;
    DefinitionError for a migrating field with vaults of tenants; KmsError, also where the engine's SQLite file is the
    key store's.
    """
    sync_engine: Engine = getattr(engine, "sync_engine", engine)
    _require_a_file_of_its_own(sync_engine, opened)
    install_hooks()
    tables = () if metadata is None else metadata.tables.values()
    migrating = [definition_of(c) for table in tables for c in sealed_columns(table) if is_migrating(c)]
    definitions = [definition_of(column) for table in tables for column in sealed_columns(table)]
    compounds = [compound.definition for table in tables for compound in compounds_of(table)]
    if isinstance(opened, TenantVaults):
        if migrating:
            raise DefinitionError(
                f"{migrating[0].label} is migrating: a plaintext column has the rows of all tenants, and each keyring"
                " modes of its own; migrate it by an engine with one keyring"
            )
        install_session_hooks()
        opened.declare(definitions, compounds)
        bind_vault(sync_engine.dialect, AttachedTenants(opened))
        _announce(sync_engine, opened)
        return
    for definition in migrating:  # before it is recorded: what was recorded and does not migrate is sealed-only
        opened.modes.mode(definition)
    for definition in definitions:
        opened.field(definition)
    for compound in compounds:
        opened.compound(compound)
    bind_vault(sync_engine.dialect, AttachedVault(opened))
    if isinstance(opened, OpenedVault):
        _announce(sync_engine, opened)


def _announce(engine: Engine, opened: OpenedVault | TenantVaults) -> None:
    """From its first connection on, the key store knows of the engine's database."""
    opened.at_opening(announce(engine, DatabaseRegister(opened.key_store).see).serve)


def _require_a_file_of_its_own(engine: Engine, opened: OpensFields | TenantVaults) -> None:
    """Seals are counted while the application writes, and SQLite has one writer a file: they would wait for ever."""
    if not isinstance(opened, OpenedVault | TenantVaults):
        return
    urls = (engine.url, opened.key_store.engine.url)
    files = [url.database for url in urls if url.get_backend_name() == "sqlite" and url.database]
    if len(files) == 2 and os.path.realpath(files[0]) == os.path.realpath(files[1]):
        raise MisconfiguredError("on SQLite the keys lie in a file of their own, beside the data's: name two files")
