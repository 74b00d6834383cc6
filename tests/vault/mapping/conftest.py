"""A vault, and databases that it is attached to, with a spy at the driver."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, StaticPool
from sqlalchemy.orm import Session

from kms import Keyring, KeyStore, LeaseSettings, open_provider
from kms.providers.local import create_key_file
from tests.servers import mariadb
from tests.servers.databases import DATABASES, need_database
from tests.servers.postgres import fresh_database
from tests.vault import tenancy as tenancy_tables
from tests.vault.mapping.clinic import Base
from tests.vault.mapping.driver_spy import MARK, DriverSpy
from tests.vault.mapping.migrating import Base as MigratingBase
from tests.vault.mapping.migrating import Migration, SetModes
from tests.vault.tenancy import new_tenants
from vault import TenantVaults
from vault.attaching import attach
from vault.modes.mode import Mode
from vault.opened import OpenedVault

DEFAULT_LEASES = LeaseSettings()
Watched = tuple[Engine, DriverSpy]


def new_vault(directory: Path, leases: LeaseSettings = DEFAULT_LEASES) -> OpenedVault:
    create_key_file(directory / "kek")
    store = KeyStore.from_url(f"sqlite:///{directory / 'keys.db'}")
    store.create_schema()
    provider = open_provider(f"local:{directory / 'kek'}")
    Keyring.create(store, provider, "main")
    return OpenedVault(Keyring.open(store, provider, "main", leases=leases), store)


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenedVault]:
    vault = new_vault(tmp_path_factory.mktemp("keys"))
    yield vault
    vault.close()


@pytest.fixture(scope="session")
def watched_sqlite(opened: OpenedVault, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with _watched(f"sqlite:///{tmp_path_factory.mktemp('application') / 'clinic.db'}", opened) as watched:
        yield watched


@pytest.fixture(scope="session")
def watched_postgres(opened: OpenedVault, postgres_server_url: str) -> Iterator[Watched]:
    with fresh_database(postgres_server_url) as url, _watched(url, opened) as watched:
        yield watched


@pytest.fixture(scope="session")
def watched_mariadb(opened: OpenedVault, mariadb_server_url: str) -> Iterator[Watched]:
    """By the dialect's other name; database_url has the one."""
    with mariadb.fresh_database(mariadb_server_url, "mariadb+pymysql") as url, _watched(url, opened) as watched:
        yield watched


@contextmanager
def _watched(url: str, opened: OpenedVault) -> Iterator[Watched]:
    spy = DriverSpy()
    engine = spy.engine(url)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    yield engine, spy
    engine.dispose()


@pytest.fixture(params=DATABASES)
def watched(request: pytest.FixtureRequest) -> Iterator[Watched]:
    need_database(request.node, request.param)
    engine, spy = request.getfixturevalue(f"watched_{request.param}")
    spy.sent.clear()
    yield engine, spy
    seen = spy.saw_plaintext()
    with engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
    assert not seen


@pytest.fixture
def clinic(watched: Watched) -> Engine:
    """The clinic's tables, empty, in each kind of database; at the end, no sealed value has been seen in plain."""
    return watched[0]


@pytest.fixture
def spy(watched: Watched) -> DriverSpy:
    """What reaches the driver of clinic."""
    return watched[1]


@pytest.fixture
def session(clinic: Engine) -> Iterator[Session]:
    with Session(clinic) as session:
        yield session


@pytest.fixture
def quick(opened: OpenedVault) -> Iterator[Engine]:
    """The same on SQLite in memory, for what does not depend on the database."""
    with _watched("sqlite://", opened) as (engine, spy):
        yield engine
        assert not spy.saw_plaintext()


@pytest.fixture(scope="session")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantVaults]:
    """Of the tenants of tenancy.py."""
    vaults = new_tenants(tmp_path_factory.mktemp("tenants"))
    yield vaults
    vaults.close()


@pytest.fixture
def tenancy(vaults: TenantVaults) -> Iterator[tuple[Engine, DriverSpy]]:
    """The tables of tenancy.py on SQLite in memory, with what reaches the driver."""
    spy = DriverSpy()
    engine = spy.engine("sqlite://", poolclass=StaticPool)
    attach(engine, vaults, tenancy_tables.Base.metadata)
    tenancy_tables.Base.metadata.create_all(engine)
    spy.sent.clear()
    yield engine, spy
    assert not spy.saw_plaintext()
    engine.dispose()


@contextmanager
def _migrating(url: str, opened: OpenedVault) -> Iterator[Migration]:
    spy, modes = DriverSpy(), SetModes()
    vault = OpenedVault(opened.keyring, opened.key_store)
    vault.modes = modes
    engine = spy.engine(url)
    attach(engine, vault)
    MigratingBase.metadata.create_all(engine)
    yield Migration(engine, modes, spy, vault)
    engine.dispose()


@pytest.fixture(scope="session")
def migrating_sqlite(opened: OpenedVault, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Migration]:
    with _migrating(f"sqlite:///{tmp_path_factory.mktemp('application') / 'migrating.db'}", opened) as migration:
        yield migration


@pytest.fixture(scope="session")
def migrating_postgres(opened: OpenedVault, postgres_server_url: str) -> Iterator[Migration]:
    with fresh_database(postgres_server_url) as url, _migrating(url, opened) as migration:
        yield migration


@pytest.fixture(scope="session")
def migrating_mariadb(opened: OpenedVault, mariadb_server_url: str) -> Iterator[Migration]:
    with mariadb.fresh_database(mariadb_server_url) as url, _migrating(url, opened) as migration:
        yield migration


@pytest.fixture(params=DATABASES)
def migration(request: pytest.FixtureRequest) -> Iterator[Migration]:
    """The tables of migrating.py, empty, in each kind of database; no statement's text ever holds a value."""
    need_database(request.node, request.param)
    migration: Migration = request.getfixturevalue(f"migrating_{request.param}")
    migration.modes.set(Mode.PLAINTEXT)
    migration.spy.sent.clear()
    yield migration
    texts = [sql for sql, _ in migration.spy.sent]
    with migration.engine.begin() as connection:
        for table in reversed(MigratingBase.metadata.sorted_tables):
            connection.execute(table.delete())
    assert not [sql for sql in texts if MARK in sql]
