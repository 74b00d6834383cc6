"""The key store knows of a database before anything is written there, by whatever engine and for every keyring."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert, make_url, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool, Pool, QueuePool

from kms import Keyring, KeyStore, UnavailableError
from tests.kms.scripted_provider import ScriptedProvider
from tests.vault.projects import make_project, visit
from vault.attaching import attach
from vault.databases.announcing import Announcing
from vault.databases.database_identity import DatabaseIdentity
from vault.databases.database_register import DatabaseRegister
from vault.index.home import IndexHomes
from vault.opened import OpenedVault
from vault.tenants import TenantVaults


def registered(store: KeyStore, keyring: Keyring) -> list[str]:
    return [one.place for one in DatabaseRegister(store).databases(keyring.id)]


def test_a_project_registers_its_database_when_it_first_connects(tmp_path: Path, database_url: str) -> None:
    project = make_project(tmp_path, database_url)
    store, keyring = project.opened.key_store, project.opened.keyring
    with project.engine.begin() as connection:
        (place,) = registered(store, keyring)
        connection.execute(insert(project.table("visit")), [visit(1)])
    if database_url.startswith("sqlite"):
        assert str(tmp_path / "application.db") in place
    else:
        assert str(make_url(database_url).database) in place
    project.close()


def test_a_connection_that_was_open_before_the_engine_was_attached_is_looked_at_too(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    other = f"sqlite:///{tmp_path / 'other.db'}"
    engine = create_engine(other)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    attach(engine, project.opened)
    attach(engine, project.opened)
    with engine.connect():
        assert any("other.db" in place for place in registered(project.opened.key_store, project.opened.keyring))
    engine.dispose()
    project.close()


def test_while_the_key_store_is_away_a_connection_is_refused_and_a_later_one_tells(tmp_path: Path) -> None:
    away, seen = [True], []

    def see(_keyring: bytes, identity: DatabaseIdentity) -> None:
        if away:
            raise UnavailableError("the key store does not answer")
        seen.append(identity.place)

    engine = create_engine(f"sqlite:///{tmp_path / 'one.db'}")
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    announcing = Announcing(engine, see)
    announcing.serve(keyring)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            engine.connect()
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    away.clear()
    for _ in range(2):
        with engine.connect():
            pass
    assert len(seen) == 1
    engine.dispose()
    store.close()


@pytest.mark.parametrize("pool", [NullPool, QueuePool])
def test_later_connections_do_not_need_the_key_store_and_tell_once_an_hour(tmp_path: Path, pool: type[Pool]) -> None:
    """New ones, and one that is taken from the pool again."""
    now, away, tried = [0.0], [], []

    def see(_keyring: bytes, identity: DatabaseIdentity) -> None:
        tried.append(identity.place)
        if away:
            raise UnavailableError("the key store does not answer")

    engine = create_engine(f"sqlite:///{tmp_path / 'one.db'}", poolclass=pool)
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    announcing = Announcing(engine, see, lambda: now[0])
    announcing.serve(Keyring.create(store, ScriptedProvider(), "main", refresh=False))
    for seconds, calls in ((0, 1), (1, 1), (3599, 1), (3600, 2), (3601, 2), (7199, 2), (7200, 3)):
        now[0] = seconds
        with engine.connect():
            pass
        assert len(tried) == calls, seconds
        away.append(True)  # after the first
    engine.dispose()
    store.close()


def test_a_database_that_was_forgotten_and_lives_counts_again_by_an_old_connection(tmp_path: Path) -> None:
    now = [0.0]
    engine = create_engine(f"sqlite:///{tmp_path / 'one.db'}")
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    keyring, register = Keyring.create(store, ScriptedProvider(), "main", refresh=False), DatabaseRegister(store)
    announcing = Announcing(engine, register.see, lambda: now[0])
    announcing.serve(keyring)
    with engine.connect():
        (one,) = register.databases(keyring.id)
    register.forget(keyring.id, one.digest)
    now[0] = 3600
    with engine.connect():
        assert [one.counts for one in register.databases(keyring.id)] == [True]
    engine.dispose()
    store.close()


@pytest.mark.postgres
def test_an_asynchronous_engine_tells_it_too(tmp_path: Path, postgres_url: str) -> None:
    project = make_project(tmp_path)

    async def connect() -> None:
        engine = create_async_engine(make_url(postgres_url).set(drivername="postgresql+asyncpg"))
        attach(engine, project.opened)
        async with engine.connect() as connection:
            assert (await connection.execute(text("SELECT 1"))).scalar() == 1
        await engine.dispose()

    asyncio.run(connect())
    (place,) = [one for one in registered(project.opened.key_store, project.opened.keyring) if "postgresql" in one]
    assert str(make_url(postgres_url).database) in place
    project.close()


def test_each_tenant_that_is_opened_registers_the_database(tmp_path: Path) -> None:
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    kek = ScriptedProvider()
    for name in ("a", "b", "c"):
        Keyring.create(store, kek, name, refresh=False).close()
    vaults = TenantVaults(store, lambda name: Keyring.open(store, kek, name, refresh=False))
    engine: Engine = create_engine(f"sqlite:///{tmp_path / 'one.db'}")
    first = vaults.vault("a")
    attach(engine, vaults)
    with engine.connect():
        assert len(registered(store, first.keyring)) == 1
        second = vaults.vault("b")
        assert len(registered(store, second.keyring)) == 1
    third: Any = store.load("c")
    assert DatabaseRegister(store).databases(third.keyring_id) == []
    engine.dispose()
    vaults.close()


def test_a_keyring_that_an_index_lives_in_registers_it_when_it_is_opened(tmp_path: Path) -> None:
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    kek = ScriptedProvider()
    own, home = (Keyring.create(store, kek, name, refresh=False) for name in ("main", "search"))
    homes = IndexHomes(lambda _name: home)
    engine = create_engine(f"sqlite:///{tmp_path / 'one.db'}")
    attach(engine, OpenedVault(own, store, homes))
    with engine.connect():
        assert len(registered(store, own)) == 1
        assert registered(store, home) == []
        homes("search")
        assert len(registered(store, home)) == 1
    engine.dispose()
    store.close()
