"""Project: everything that one policy file names, opened: database, tables, keys, ledger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, MetaData, Table, create_engine, false, inspect, literal, or_, select, true

from kms import (
    Keyring,
    KeyringClosedError,
    KeyStore,
    LeaseSettings,
    ProviderSettings,
    Purpose,
    RoutedProvider,
    open_routed,
)
from vault.attaching import attach
from vault.errors import PolicyError
from vault.field import Field
from vault.index.home import IndexHomes
from vault.mapped_tables import table_policies
from vault.mapping.definitions import definition_of, is_migrating, sealed_columns
from vault.modes.mode import Mode
from vault.opened import OpenedVault
from vault.policy import Policy
from vault.rows.raw_table import raw_table
from vault.rows.tenant_rows import rows_of
from vault.schema import tables

MADE_BY: Final = {False: "typing: noisevault init", True: "your migrations, as in: alembic upgrade head"}


@dataclass(frozen=True, slots=True)
class Project:
    """A policy and what it names. Open one a process; it is shared by threads.

    Where the tables are mapped classes, `create` and `open` are given their MetaData, as `mapped`.
    """

    policy: Policy
    engine: Engine
    tables: dict[str, Table]
    opened: OpenedVault
    mapped: bool = False

    @classmethod
    def create(
        cls,
        policy: Policy,
        settings: ProviderSettings,
        formers: Sequence[ProviderSettings] = (),
        mapped: MetaData | None = None,
    ) -> Project:
        """Make what is not there yet: the keyring, with a key of each purpose, and the tables, but for mapped ones.

        formers: as open_keks.

        Raises: KmsError; DefinitionChangedError; PolicyError when there are sealed values and no keyring.
        """
        with closing(KeyStore.from_url(policy.keys_url)) as store:
            metadata = tables(policy) if mapped is None else mapped
            lacking = _lacking_keyrings(policy, store, metadata)
            store.create_schema()
            for name in lacking:
                Keyring.create(store, open_keks(policy, settings, formers), name).close()
        project = cls.open(policy, settings, formers, mapped)
        with ExitStack() as undone:
            undone.callback(project.close)
            for table in project.tables.values() if mapped is None else ():
                table.create(project.engine, checkfirst=True)
            undone.pop_all()
        return project

    @classmethod
    def open(
        cls,
        policy: Policy,
        settings: ProviderSettings,
        formers: Sequence[ProviderSettings] = (),
        mapped: MetaData | None = None,
        *,
        registered: bool = True,
    ) -> Project:
        """formers: as open_keks. registered: not for what is about to change the definitions itself.

        Raises: KmsError when the keys cannot be had; DefinitionChangedError when the data was written otherwise.
        """
        keks = open_keks(policy, settings, formers)
        keyring, store = keyring_under(policy, keks)
        leases = leases_of(policy)
        homes = IndexHomes(lambda name: Keyring.open(store, keks, name, leases=leases))
        opened = OpenedVault(keyring, store, homes)
        with ExitStack() as undone:
            undone.callback(opened.close)
            engine = create_engine(policy.database_url, hide_parameters=True)
            undone.callback(engine.dispose)
            metadata = tables(policy) if mapped is None else mapped
            if registered:
                attach(engine, opened, metadata)
            undone.pop_all()
        return cls(policy, engine, dict(metadata.tables), opened, mapped is not None)

    def close(self) -> None:
        """Close the keyring, the key store and the connections to the data."""
        self.opened.close()
        self.engine.dispose()

    def table(self, name: str) -> Table:
        """Raises: PolicyError naming the tables there are."""
        if name not in self.tables:
            raise PolicyError(f"there is no table {name!r} in the policy; it names: {', '.join(self.tables)}")
        return self.tables[name]

    def fields(self, table: Table) -> dict[str, Field]:
        """The sealed columns of `table` by name, each with its field object."""
        return {column.name: self.opened.field(definition_of(column)) for column in sealed_columns(table)}

    def require_sealed(self, table: Table, names: Collection[str]) -> None:
        """Of those columns each migrating one must be read sealed by now: here stored bytes are opened, not plaintext.

        Raises: PolicyError, KmsError.
        """
        for column in sealed_columns(table):
            mode = self.opened.modes.mode(definition_of(column)) if is_migrating(column) else Mode.SEALED_ONLY
            if column.name in names and not mode.reads_sealed:
                raise PolicyError(
                    f"{table.name}.{column.name} is read from its plaintext column, in mode {mode.value}: ask again"
                    " from mode dual-read-sealed on (docs/migrating.md)"
                )

    def require_tables(self) -> None:
        """Raises: PolicyError if a table is not in the database; of mapped classes, those with sealed columns count."""
        there = inspect(self.engine)
        needed = {name: table for name, table in self.tables.items() if not self.mapped or sealed_columns(table)}
        missing = sorted(n for n, table in needed.items() if not there.has_table(table.name, schema=table.schema))
        if missing:
            raise PolicyError(f"the database has no table {', '.join(missing)}; make it by {MADE_BY[self.mapped]}")

    @property
    def active_data_key_id(self) -> str:
        """Or, of a closed keyring, that it is closed."""
        try:
            return self.opened.keyring.sealing(Purpose.DATA).key.key_id.hex()
        except KeyringClosedError:
            return "none (closed)"


def homes_of(metadata: MetaData) -> list[str]:
    """The keyrings, other than the fields', that indexes live in."""
    definitions = [definition_of(column) for table in metadata.tables.values() for column in sealed_columns(table)]
    return sorted({index.keyring for one in definitions for index in one.indexes if index.keyring is not None})


def require_no_lost_keyring(policy: Policy, mapped: MetaData | None = None) -> None:
    """Raises: PolicyError when there are sealed values and no keyring; KmsError. Nothing is made."""
    with closing(KeyStore.from_url(policy.keys_url)) as store:
        _lacking_keyrings(policy, store, tables(policy) if mapped is None else mapped)


def _lacking_keyrings(policy: Policy, store: KeyStore, metadata: MetaData) -> list[str]:
    """Asked before any table is made: an empty one stands in the way of a copy that is put back."""
    there = store.names() if store.has_schema() else []
    own = policy.vault.keyring
    lacking = [name for name in dict.fromkeys([own, *homes_of(metadata)]) if name not in there]
    for name in lacking:
        _require_nothing_sealed(policy, metadata, home=None if name == own else name)
    return lacking


def _require_nothing_sealed(policy: Policy, metadata: MetaData, home: str | None = None) -> None:
    """That no table holds values which a new keyring could not open: then the key store was lost or is elsewhere.

    Of a table whose rows name their tenants, the others' do not count. home: the new keyring is one that indexes live
    in, and only fields that have one there count.
    """
    engine = create_engine(policy.database_url, hide_parameters=True)
    try:
        full = [
            table.name for table in metadata.tables.values() if _holds_sealed(engine, table, policy.vault.keyring, home)
        ]
    finally:
        engine.dispose()
    if full:
        raise PolicyError(
            f"table {full[0]} holds sealed values and the key store has no keyring {(home or policy.vault.keyring)!r}:"
            f" put the key store back from its copy, a new keyring would {'find' if home else 'open'} none of them"
        )


def _holds_sealed(engine: Engine, table: Table, keyring: str, home: str | None) -> bool:
    there = inspect(engine)
    if not there.has_table(table.name, schema=table.schema):
        return False
    stored = {column["name"] for column in there.get_columns(table.name, schema=table.schema)}
    raw = raw_table(table)
    sealed = [
        raw.c[column.name].is_not(None)
        for column in sealed_columns(table)
        if column.name in stored
        and (home is None or any(index.keyring == home for index in definition_of(column).indexes))
    ]
    mine = rows_of(table, raw, keyring) if home is None else None
    asked = select(literal(1)).select_from(raw).where(or_(false(), *sealed), true() if mine is None else mine)
    with engine.connect() as connection:
        return connection.execute(asked.limit(1)).first() is not None


def open_keks(policy: Policy, settings: ProviderSettings, formers: Sequence[ProviderSettings] = ()) -> RoutedProvider:
    """The policy's key-encryption keys: kek, which wraps, and kek_former, which unwrap only. Raises: KmsError.

    formers: settings for each of kek_former, in order; where none are given, those of kek.
    """
    own = list(formers) or [settings] * len(policy.vault.kek_former)
    return open_routed(policy.vault.kek, settings, list(zip(policy.vault.kek_former, own, strict=True)))


def open_keyring(
    policy: Policy, settings: ProviderSettings, formers: Sequence[ProviderSettings] = ()
) -> tuple[Keyring, KeyStore]:
    """The policy's keyring and the store that it is in; no database of data is opened. Raises: KmsError."""
    return keyring_under(policy, open_keks(policy, settings, formers))


def keyring_under(policy: Policy, keks: RoutedProvider) -> tuple[Keyring, KeyStore]:
    """As open_keyring, with key-encryption keys that are open already."""
    with ExitStack() as undone:
        store = undone.enter_context(closing(KeyStore.from_url(policy.keys_url)))
        keyring = Keyring.open(store, keks, policy.vault.keyring, leases=leases_of(policy))
        undone.pop_all()
    return keyring, store


def leases_of(policy: Policy) -> LeaseSettings:
    """How long its keyrings go on without news."""
    return LeaseSettings(sealing=policy.vault.sealing_lease)


def has_keyring(policy: Policy) -> bool:
    """Whether the policy's keyring was made already. Raises: KmsError."""
    with closing(KeyStore.from_url(policy.keys_url)) as store:
        return store.has_schema() and policy.vault.keyring in store.names()


def require_files(policy: Policy) -> None:
    """SQLite would make an empty file of each that is missing. Raises: PolicyError naming them."""
    missing = policy.vault.missing_files().values()
    if missing:
        raise PolicyError(
            f"there is no file {', '.join(map(str, missing))}; the first time, make it by: noisevault init;"
            " later, bring it back from a backup"
        )


def policy_beside(path: Path, mapped: MetaData | None = None) -> Policy:
    """mapped: the application's own tables, for a policy that names none.

    Raises: PolicyError, saying how to begin when there is no file.
    """
    if not path.exists():
        raise PolicyError(
            f"there is no policy file {path}; write an example to begin with by: noisevault init --example"
        )
    return Policy.load(path, None if mapped is None else table_policies(mapped))
