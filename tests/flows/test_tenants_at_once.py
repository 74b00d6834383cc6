"""The gate for every release: 16 threads and 200 tasks seal for eight tenants, and no value is under another's key.

scripts/soak makes 640,000 seals, scripts/test fewer, by fewer of both. Tenants are let go of and opened meanwhile.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, NullPool, Table, create_engine, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import SingletonThreadPool

from kms import Purpose
from tests.servers.not_run import need_module
from tests.sizes import sized
from tests.vault.tenancy import Account, Base, Client, Patient, new_tenants
from vault import TenantVaults, attach
from vault.mapping import definition_of, sealed_columns
from vault.rows.raw_table import raw_table

TENANTS = [f"tenant-{n}" for n in range(8)]
ROWS = 20
SEALS = 2 * ROWS


def sizes() -> tuple[tuple[int, int], tuple[int, int]]:
    """Threads, and blocks of each; tasks, and blocks of each."""
    return (sized(8, 16), sized(6, 500)), (sized(50, 200), sized(1, 40))


(THREADS, BLOCKS_A_THREAD), (TASKS, BLOCKS_A_TASK) = sizes()
MODELS: tuple[type[Any], ...] = (Patient, Client, Account)


class Gate:
    """What all threads and tasks use together, and what they found."""

    def __init__(self, vaults: TenantVaults) -> None:
        self.vaults = vaults
        self.keys: dict[str, dict[Purpose, set[bytes]]] = {}
        for name in TENANTS:
            records = vaults.vault(name).keyring.records()
            self.keys[name] = {p: {r.key_id for r in records if r.purpose is p} for p in Purpose}
        self.seen: Counter[tuple[str, str]] = Counter()
        self.counting = threading.Lock()

    def check(self, table: Table, rows: list[Any]) -> None:
        """Each stored value names a key of the row's tenant, opens under it alone, and holds that tenant's name."""
        seen: Counter[tuple[str, str]] = Counter()
        for row in rows:
            tenant = row["tenant_id"] if table.name == "account" else row["city"]
            for column in sealed_columns(table):
                stored = row[column.name]
                assert stored[2:6] in self.keys[tenant][Purpose.DATA]
                field = self.vaults.vault(tenant).field(definition_of(column))
                value = field.open(stored, row)
                assert value.startswith(tenant + "/")
                for name, term in field.terms(value).items():
                    assert row[name] == term
                    assert term is None or term[1:5] in self.keys[tenant][Purpose.INDEX]
                seen[tenant, table.name] += 1
        with self.counting:
            self.seen.update(seen)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    vaults = new_tenants(tmp_path, TENANTS, most_open=len(TENANTS) - 1)
    yield Gate(vaults)
    vaults.close()


@pytest.fixture
def engine(gate: Gate) -> Iterator[Engine]:
    """A database in memory for each thread."""
    engine = create_engine("sqlite://", poolclass=SingletonThreadPool, pool_size=2 * THREADS)
    attach(engine, gate.vaults, Base.metadata)
    yield engine
    engine.dispose()


@pytest.fixture
def async_engine(gate: Gate, request: pytest.FixtureRequest) -> AsyncEngine:
    """A database in memory for each connection."""
    need_module(request.node, "aiosqlite")
    engine = create_async_engine("sqlite+aiosqlite://", poolclass=NullPool)
    attach(engine, gate.vaults, Base.metadata)
    return engine


def _rows(model: type[Any], tenants: list[str]) -> list[dict[str, Any]]:
    """Values that name their tenant; rows of an Account are several tenants'."""
    rows: list[dict[str, Any]] = []
    for number in range(ROWS):
        tenant = tenants[number % len(tenants)]
        row: dict[str, Any] = {"id": number, "note": f"{tenant}/n{number}"}
        if model is Account:
            rows.append(row | {"tenant_id": tenant, "iban": f"{tenant}/i{number}"})
        else:
            rows.append(row | {"city": tenant, "ssn": f"{tenant}/s{number}"})
    return rows


def _block(session: Session, model: type[Any], rows: list[dict[str, Any]], by_orm: bool) -> None:
    if by_orm:
        session.add_all([model(**row) for row in rows])
        session.flush()
        session.expire_all()
    else:
        session.execute(insert(model), rows)
    read = session.scalars(select(model).order_by(model.id)).all()
    assert [one.note for one in read] == [row["note"] for row in rows]


def _asked(session: Session, model: type[Any], row: dict[str, Any]) -> None:
    column, value = (model.iban, row["iban"]) if model is Account else (model.ssn, row["ssn"])
    found = session.scalars(select(model.id).where(column == value)).all()
    assert row["id"] in found
    assert model is Client or found == [row["id"]]


def _taken_out(session: Session, model: type[Any]) -> list[Any]:
    raw = raw_table(model.__table__)
    stored = [dict(row) for row in session.execute(select(raw)).mappings()]
    session.execute(raw.delete())
    session.commit()
    return stored


def _thread(gate: Gate, engine: Engine, number: int, begin: threading.Barrier) -> None:
    chosen = random.Random(number)
    Base.metadata.create_all(engine)
    begin.wait(60)
    for block in range(BLOCKS_A_THREAD):
        model, (tenant, other) = chosen.choice(MODELS), chosen.sample(TENANTS, 2)
        by_orm = block % 2 == 0
        if model is Account:
            rows = _rows(model, [tenant, other])
            with Session(engine) as session:
                _block(session, model, rows, by_orm)
                with gate.vaults.tenant(tenant):
                    _asked(session, model, rows[0])
                gate.check(model.__table__, _taken_out(session, model))
            continue
        rows = _rows(model, [tenant])
        with gate.vaults.tenant(tenant), Session(engine) as session:
            _block(session, model, rows, by_orm)
            _asked(session, model, chosen.choice(rows))
            gate.check(model.__table__, _taken_out(session, model))
    Base.metadata.drop_all(engine)
    with engine.connect() as connection:
        connection.invalidate()  # the pool forgets a connection with its thread, and leaves it open


async def _task(gate: Gate, connection: AsyncConnection, number: int, begin: asyncio.Barrier) -> None:
    chosen = random.Random(1000 + number)
    await connection.run_sync(Base.metadata.create_all)
    await connection.commit()
    await begin.wait()
    for block in range(BLOCKS_A_TASK):
        model, (tenant, other) = chosen.choice(MODELS), chosen.sample(TENANTS, 2)
        by_orm = (block + number) % 2 == 0
        rows = _rows(model, [tenant, other] if model is Account else [tenant])
        async with AsyncSession(connection) as session:
            if model is Account:
                await session.run_sync(_block, model, rows, by_orm)
            with gate.vaults.tenant(tenant):
                if model is not Account:
                    await session.run_sync(_block, model, rows, by_orm)
                await asyncio.sleep(0)
                await session.run_sync(_asked, model, rows[0])
            gate.check(model.__table__, await session.run_sync(_taken_out, model))


def test_no_thread_seals_under_anothers_key(gate: Gate, engine: Engine) -> None:
    begin = threading.Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(_thread, gate, engine, number, begin) for number in range(THREADS)]:
            done.result()
    assert gate.seen.total() == THREADS * BLOCKS_A_THREAD * SEALS
    assert {tenant for tenant, _ in gate.seen} == set(TENANTS)


def test_no_task_seals_under_anothers_key(gate: Gate, async_engine: AsyncEngine) -> None:
    async def one(number: int, begin: asyncio.Barrier) -> None:
        async with async_engine.connect() as connection:
            await _task(gate, connection, number, begin)

    async def run() -> None:
        begin = asyncio.Barrier(TASKS)
        async with asyncio.TaskGroup() as tasks:
            for number in range(TASKS):
                tasks.create_task(one(number, begin))
        await async_engine.dispose()

    asyncio.run(run())
    assert gate.seen.total() == TASKS * BLOCKS_A_TASK * SEALS
    assert {tenant for tenant, _ in gate.seen} == set(TENANTS)


def test_the_full_size_is_what_the_gate_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEVAULT_SOAK", "1")
    full = sizes()
    assert [number for number, _ in full] == [16, 200]
    assert sum(number * blocks for number, blocks in full) * SEALS == 640_000
