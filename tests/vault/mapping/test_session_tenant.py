"""A session has one tenant: under another, nothing of it is sent."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert, select, text, update
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.servers.not_run import need_module
from tests.vault.mapping.driver_spy import DriverSpy
from tests.vault.tenancy import Base, Patient
from vault import OtherTenantError, TenantError, TenantVaults, attach

P = Patient.__table__
A, B = "acme", "globex"
TWO = "belongs to tenant 'acme'.*another session for tenant 'globex'"


@pytest.fixture
def engine(tenancy: tuple[Engine, DriverSpy], vaults: TenantVaults) -> Engine:
    with vaults.tenant(A), Session(tenancy[0]) as session:
        session.add(Patient(id=1, ssn="plain§a"))
        session.commit()
    with vaults.tenant(B), Session(tenancy[0]) as session:
        session.add(Patient(id=2, ssn="plain§a"))
        session.commit()
    tenancy[1].sent.clear()
    return tenancy[0]


@pytest.fixture
def spy(tenancy: tuple[Engine, DriverSpy]) -> DriverSpy:
    return tenancy[1]


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with Session(engine) as session:
        yield session


FIRST_USES: dict[str, Callable[[Session], Any]] = {
    "add": lambda s: s.add(Patient(id=7, ssn="plain§new")),
    "get": lambda s: s.get_one(Patient, 1),
    "query": lambda s: s.scalars(select(P.c.city)).all(),
    "a textual query": lambda s: s.execute(text("SELECT 1")),
    "connection": lambda s: s.connection().execute(select(P.c.city)),
    "bulk": lambda s: s.bulk_insert_mappings(Patient, [{"id": 8, "ssn": "plain§new"}]),
    "merge": lambda s: s.merge(Patient(id=1, city="x")),
}
USES: dict[str, Callable[[Session], Any]] = {
    **FIRST_USES,
    "get": lambda s: s.get(Patient, 2),  # what the session has already is given without a statement
    "update": lambda s: s.execute(update(Patient).where(Patient.id == 2).values(ssn="plain§b")),
    "insert": lambda s: s.execute(insert(Patient), [{"id": 9, "ssn": "plain§b"}]),
    "connection's insert": lambda s: s.connection().execute(insert(P).values(id=9, ssn="plain§b")),
    "bulk objects": lambda s: s.bulk_save_objects([Patient(id=9, ssn="plain§b")]),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("first", FIRST_USES)
def test_a_session_used_under_one_tenant_sends_nothing_under_another(
    session: Session, spy: DriverSpy, vaults: TenantVaults, first: str, use: str
) -> None:
    with vaults.tenant(A):
        FIRST_USES[first](session)
    spy.sent.clear()
    with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
        USES[use](session)
    assert not spy.sent


LATE: dict[str, Callable[[Session, Patient], Any]] = {
    "autoflush by a query": lambda s, _: s.scalars(select(P.c.city)).all(),
    "autoflush by a get": lambda s, _: s.get(Patient, 2),
    "flush": lambda s, _: s.flush(),
    "commit": lambda s, _: s.commit(),
}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("new", [True, False])
def test_what_was_changed_under_one_tenant_is_not_flushed_under_another(
    session: Session, spy: DriverSpy, vaults: TenantVaults, late: str, new: bool
) -> None:
    with vaults.tenant(A):
        if new:
            patient = Patient(id=7, ssn="plain§new")
            session.add(patient)
        else:
            patient = session.get_one(Patient, 1)
            patient.ssn = "plain§new"
    spy.sent.clear()
    with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
        LATE[late](session, patient)
    assert not spy.sent
    with vaults.tenant(A):
        session.commit()
        assert session.scalars(select(Patient.id).where(Patient.ssn == "plain§new")).all() == [patient.id]


def test_an_expired_object_is_not_loaded_under_another(session: Session, vaults: TenantVaults) -> None:
    with vaults.tenant(A):
        patient = session.get_one(Patient, 1)
        session.commit()
    with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
        _ = patient.ssn
    with pytest.raises(TenantError, match="no tenant is in force"):
        _ = patient.ssn
    with vaults.tenant(A):
        assert patient.ssn == "plain§a"


def test_a_flush_without_a_tenant_is_refused(session: Session, spy: DriverSpy, vaults: TenantVaults) -> None:
    with vaults.tenant(A):
        session.add(Patient(id=7, ssn="plain§new"))
    with pytest.raises(TenantError, match="no tenant is in force"):
        session.commit()
    assert not [sql for sql, _ in spy.sent if sql.startswith("INSERT")]


def test_plain_columns_need_no_tenant_and_pin_none(session: Session, vaults: TenantVaults) -> None:
    assert session.scalars(select(Patient.city)).all() == [None, None]
    session.execute(update(Patient).values(city="x"))
    with vaults.tenant(B):
        assert session.scalars(select(Patient.ssn).where(Patient.id == 2)).all() == ["plain§a"]
    assert session.scalars(select(Patient.city)).all() == ["x", "x"]
    with vaults.tenant(A), pytest.raises(TenantError, match="belongs to tenant 'globex'"):
        session.scalars(select(Patient.city))


def test_the_pin_outlives_commit_rollback_and_close(session: Session, vaults: TenantVaults) -> None:
    with vaults.tenant(A):
        session.get_one(Patient, 1)
    for end in (session.commit, session.rollback, session.close):
        end()
        with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
            session.get(Patient, 2)


def test_a_result_is_not_read_on_under_another(session: Session, vaults: TenantVaults) -> None:
    with vaults.tenant(A):
        result = session.execute(select(P.c.ssn).where(P.c.id == 1))
    with vaults.tenant(B), pytest.raises(OtherTenantError):
        result.all()


def test_other_engines_of_the_process_do_not_matter(vaults: TenantVaults) -> None:
    plain = create_engine("sqlite://")
    with Session(plain) as session:
        for name in (A, B):
            with vaults.tenant(name):
                assert session.scalar(text("SELECT 1")) == 1
    plain.dispose()


def test_a_session_that_chooses_its_engine_is_pinned_by_the_one_it_uses(
    engine: Engine, vaults: TenantVaults, tenancy: tuple[Engine, DriverSpy]
) -> None:
    class Routed(Session):
        def get_bind(self, *_: Any, route: str = "", **_kw: Any) -> Any:
            if not route:
                raise UnboundExecutionError("say bind_arguments={'route': ...}")
            return engine

    to = {"bind_arguments": {"route": "main"}}
    with Session(binds={Patient: engine}) as bound, Routed() as routed:
        for session in (bound, routed):
            with vaults.tenant(A):
                session.execute(select(Patient.city), **(to if session is routed else {}))
            tenancy[1].sent.clear()
            with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
                session.execute(select(Patient.city), **(to if session is routed else {}))
            assert not tenancy[1].sent
        with vaults.tenant(A), pytest.raises(UnboundExecutionError):
            routed.execute(select(Patient.city))


def test_sessions_that_share_a_connection_are_told_apart(engine: Engine, vaults: TenantVaults) -> None:
    with engine.connect() as connection:
        for name, number in ((A, 1), (B, 2)):
            with vaults.tenant(name), Session(connection) as session:
                assert session.get_one(Patient, number).ssn == "plain§a"
        with Session(connection) as one, Session(connection) as two:
            for session, name, number in ((one, A, 1), (two, B, 2), (one, A, 1), (two, B, 2)):
                with vaults.tenant(name):
                    assert session.get_one(Patient, number, populate_existing=True).ssn == "plain§a"
            with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
                one.get_one(Patient, 2)


def test_a_closed_session_does_not_hide_another_on_its_connection(engine: Engine, vaults: TenantVaults) -> None:
    with engine.connect() as connection:
        closed, session = Session(connection), Session(connection)
        with vaults.tenant(B):
            closed.get_one(Patient, 2)
            closed.close()
        with vaults.tenant(A):
            session.get_one(Patient, 1)
        with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
            session.connection().execute(select(P.c.city))
        session.close()


def test_a_core_connection_follows_the_tenant_in_force(engine: Engine, vaults: TenantVaults) -> None:
    held = select(P.c.id).where(P.c.ssn == "plain§a")
    with engine.begin() as connection:
        for name, number in ((A, 1), (B, 2), (A, 1)):
            with vaults.tenant(name):
                assert connection.scalars(held).all() == [number]
        with pytest.raises(TenantError, match="no tenant is in force"):
            connection.execute(held)


def test_an_async_session_is_pinned_too(request: pytest.FixtureRequest, vaults: TenantVaults, tmp_path: Any) -> None:
    need_module(request.node, "aiosqlite")

    async def run() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}")
        attach(engine, vaults)
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        async with AsyncSession(engine) as session:
            with vaults.tenant(A):
                session.add(Patient(id=1, ssn="plain§a"))
            with vaults.tenant(B), pytest.raises(TenantError, match=TWO):
                await session.scalars(select(Patient.city))
            with vaults.tenant(A):
                await session.commit()
                assert (await session.scalars(select(Patient.ssn))).all() == ["plain§a"]
        await engine.dispose()

    asyncio.run(run())
