"""AsyncSession: after one await at start, its statements ask neither the key store nor the key service."""

import asyncio
import re
import subprocess
import sys
import threading
import traceback
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import URL, Text, event, make_url, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider
from tests.servers.not_run import need_module
from tests.vault.mapping.conftest import new_vault
from tests.vault.mapping.migrating import Base as MigratingBase
from tests.vault.mapping.migrating import Kinds, SetModes, Ward
from tests.vault.mapping.migrating import Patient as Migrating
from vault import BlindIndex, Sealed, attach
from vault.modes.mode import Mode
from vault.opened import OpenedVault

ROOT = Path(__file__).parents[3]


class Base(DeclarativeBase):
    pass


class Patient(Base):
    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex()))


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    for module in ("greenlet", "aiosqlite"):
        need_module(request.node, module)


def test_the_program_of_the_documentation_runs_as_it_stands(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "keys-leases.md").read_text(), re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.stderr, ran.stdout) == ("", "1\n")
    assert b"ada@" not in (tmp_path / "app.db").read_bytes()


def test_a_warmed_session_asks_nobody_on_the_loop(tmp_path: Path) -> None:
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    provider = ScriptedProvider()
    vault = OpenedVault(Keyring.create(store, provider, "main"), store)
    asked: list[int] = []

    async def serve() -> list[str]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'app.db'}")
        await asyncio.to_thread(attach, engine, vault, Base.metadata)
        event.listen(store.engine, "before_cursor_execute", lambda *_: asked.append(threading.get_ident()))
        provider.before = lambda: asked.append(threading.get_ident())
        assert len(await vault.warm_async()) == 3
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        async with AsyncSession(engine) as session:
            session.add_all([Patient(id=n, email=f"{n}@example.org") for n in range(600)])
            await session.commit()
            found = await session.scalars(select(Patient).where(Patient.email == "7@example.org"))
            emails = [found.one().email]
        await engine.dispose()
        return emails

    assert asyncio.run(serve()) == ["7@example.org"]
    vault.close()
    assert asked
    assert threading.get_ident() not in asked


@pytest.mark.parametrize("driver", [pytest.param("asyncpg", marks=pytest.mark.postgres), "aiosqlite"])
def test_a_migrating_field_is_served_in_every_mode(request: pytest.FixtureRequest, tmp_path: Path, driver: str) -> None:
    """K14-01 too: of a broken UNIQUE no traceback shows the value."""
    need_module(request.node, driver)
    url = make_url(
        f"sqlite:///{tmp_path / 'app.db'}" if driver == "aiosqlite" else request.getfixturevalue("postgres_url")
    )
    vault = new_vault(tmp_path)
    vault.modes = modes = SetModes()
    asyncio.run(_in_every_mode(url.set(drivername=f"{url.get_backend_name()}+{driver}"), vault, modes))
    vault.close()


async def _in_every_mode(url: URL, vault: OpenedVault, modes: SetModes) -> None:
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    engine = create_async_engine(url)
    attach(engine, vault)
    async with engine.begin() as connection:
        await connection.run_sync(MigratingBase.metadata.create_all)
    for number, mode in enumerate(Mode):
        modes.set(mode)
        async with AsyncSession(engine) as session:
            kinds = {"count": number, "price": Decimal("1.50"), "ward": Ward.EAST, "chart": {"a": 1}}
            session.add_all([Migrating(id=number, ssn=f"s3cr3t-{number}"), Kinds(id=number, **kinds)])
            await session.commit()
            for asked in (Migrating.ssn == f"s3cr3t-{number}", Migrating.ssn.in_([f"s3cr3t-{number}"])):
                assert (await session.scalars(select(Migrating.ssn).where(asked))).all() == [f"s3cr3t-{number}"]
            found = await session.scalars(select(Kinds).where(Kinds.count == number, Kinds.ward == Ward.EAST))
            assert [{name: getattr(one, name) for name in kinds} for one in found] == [kinds]
            session.add(Migrating(id=number + 100, ssn=f"s3cr3t-{number}"))
            with pytest.raises(IntegrityError) as caught:
                await session.flush()
            assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))
    await engine.dispose()
