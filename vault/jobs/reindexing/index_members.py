"""Index members: the tables and columns in which one index changes, as declared and as the key store knows."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlalchemy import Table, select

from kms.key_database import reading
from vault.changeover.phase import Subject
from vault.changeover.store import Part
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import field_table
from vault.errors import SealedColumnError
from vault.field import Field
from vault.index.home import at_home
from vault.jobs.reindexing.index_member import Member
from vault.jobs.row_keyrings import row_keyrings
from vault.mapping.compound_index import CompoundColumn, compounds_of
from vault.mapping.definitions import definition_of, sealed_columns
from vault.mapping.sealed_column import SealedColumn
from vault.opened import OpenedVault
from vault.tenants import TenantVaults

__all__ = ["members_at_home", "members_of", "recorded_parts"]


def members_of(subject: Subject, tables: Iterable[Table], opened: OpenedVault, *, shared: bool = False) -> list[Member]:
    """Those of the declared tables. opened: the vault of the keyring in which the index lives and its fields are.

    shared: whether the tables have rows of other keyrings as well, which are left alone.
    Raises: SealedColumnError for a column whose rows are of several keyrings, where that is not said.
    """
    members = []
    for table in tables:
        members += [
            _compound(table, compound, opened, shared)
            for compound in compounds_of(table)
            if Subject(compound.definition.table, "", compound.definition.name) == subject
        ]
        for column in sealed_columns(table):
            sealed: SealedColumn = column.type.owner  # type: ignore[attr-defined]
            definition = definition_of(column)
            if (definition.table, definition.column) == (subject.table, subject.column):
                members.append(_member(table, sealed, subject.index, opened, shared))
            members += [
                _member(table, sealed, index.name, opened, shared)
                for index in definition.indexes
                if subject.table == "" and index.scope == subject.index
            ]
    return members


def members_at_home(subject: Subject, tables: Iterable[Table], vaults: TenantVaults, home: str) -> list[Member]:
    """Of an index that lives in the keyring called home, over rows of all tenants, whose keyrings open the values."""
    members = []
    for table in tables:
        for column in sealed_columns(table):
            sealed: SealedColumn = column.type.owner  # type: ignore[attr-defined]
            there = at_home(definition_of(column), home)
            if (there.table, there.column) == (subject.table, subject.column) and there.indexes:
                made = _member(table, sealed, subject.index, vaults.home(home), True)
                members.append(
                    replace(made, field=_field_of(vaults, home, there), owner=None, rows=row_keyrings(table, vaults))
                )
    return members


def _field_of(vaults: TenantVaults, home: str, there: FieldDefinition) -> Callable[[str], Field]:
    return lambda _name: vaults.home(home).field(there)


def recorded_parts(opened: OpenedVault, subject: Subject) -> list[Part]:
    """All in which the index changes, those included whose tables are declared elsewhere."""
    if subject.table:
        return [(subject.table, subject.column)]
    row = field_table.c
    statement = select(row.definition).where(row.keyring_id == opened.keyring.id)
    newest: dict[Part, FieldDefinition] = {}
    with reading(opened.key_store.engine) as connection:
        for text in connection.scalars(statement):
            one = FieldDefinition.from_json(text)
            known = newest.get((one.table, one.column))
            if known is None or known.generation < one.generation:
                newest[one.table, one.column] = one
    return sorted(part for part, one in newest.items() if any(index.scope == subject.index for index in one.indexes))


def _refuse_tenants(sealed: SealedColumn) -> None:
    if sealed.tenant is not None:
        raise SealedColumnError(
            f"{sealed.label} takes its tenant from {sealed.tenant.name}: an index is moved for one tenant's keyring"
            " at a time, named by --tenant"
        )


def _member(table: Table, sealed: SealedColumn, index: str, opened: OpenedVault, shared: bool) -> Member:
    if not shared:
        _refuse_tenants(sealed)
    definition, asked = sealed.definition, sealed.asked_index
    unique = bool(sealed.type.unique and asked is not None and asked.name == index)
    return Member(
        (definition.table, definition.column),
        table,
        index,
        (str(sealed.column.name),),
        unique,
        lambda _name: opened.field(definition),
        owner=opened.keyring if shared else None,
    )


def _compound(table: Table, compound: CompoundColumn, opened: OpenedVault, shared: bool) -> Member:
    for part in compound.parts if not shared else ():
        _refuse_tenants(part)
    parts = {str(part.column.name): part.definition for part in compound.parts}

    def field(name: str) -> Field:
        if name not in parts:
            raise SealedColumnError(f"{compound.label} has no part {name}")
        return opened.field(parts[name])

    definition = compound.definition
    return Member(
        (definition.table, ""),
        table,
        definition.name,
        tuple(parts),
        compound.declared.unique,
        field,
        lambda: opened.compound(definition),
        opened.keyring if shared else None,
    )
