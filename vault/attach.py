"""Attach: the one wiring call, which says whose keys serve an engine."""

from typing import Any

from sqlalchemy import Engine, MetaData

from vault.mapping.attached import OpensFields, bind_vault
from vault.mapping.definitions import definition_of, sealed_columns
from vault.mapping.hooks import install_hooks

__all__ = ["attach"]


def attach(engine: Any, opened: OpensFields, metadata: MetaData | None = None) -> None:
    """Let opened seal and open for engine (an Engine or AsyncEngine), for as long as the engine lives.

    metadata: when given, all its sealed columns are registered now, so that a start-up stops at a field that is
    not defined as its data was written.
    Raises: SealedColumnError for an engine that another vault serves; DefinitionChangedError; KmsError.
    """
    sync_engine: Engine = getattr(engine, "sync_engine", engine)
    install_hooks()
    for table in () if metadata is None else metadata.tables.values():
        for column in sealed_columns(table):
            opened.field(definition_of(column))
    bind_vault(sync_engine.dialect, opened)
