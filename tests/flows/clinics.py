"""The clinic's tables behind each driver, for tests that say one thing of all of them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pytest
from sqlalchemy import URL, Engine, make_url, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from tests.pairwise import one_of
from tests.servers.databases import need_database
from tests.vault.mapping.clinic import Base
from tests.vault.mapping.driver_spy import DriverSpy
from vault import attach
from vault.mapping import definition_of, sealed_columns
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

T = TypeVar("T")

# How the documents name a driver, and which server it needs.
DRIVERS = {
    "SQLite": ("sqlite", "sqlite"),
    "SQLite (aiosqlite)": ("sqlite", "sqlite+aiosqlite"),
    "PostgreSQL (psycopg 3)": ("postgres", "postgresql+psycopg"),
    "PostgreSQL (asyncpg)": ("postgres", "postgresql+asyncpg"),
    "MariaDB (PyMySQL)": ("mariadb", "mariadb+pymysql"),
}
_MARKS = {"sqlite": (), "postgres": pytest.mark.postgres, "mariadb": pytest.mark.mariadb}
EACH_DRIVER = [
    pytest.param(name, marks=_MARKS[server], id=name.replace(" ", "-")) for name, (server, _) in DRIVERS.items()
]


def behind_each_server(names: Iterable[str], *, only_async: bool = False) -> list[Any]:
    """Params of driver and name: each name with each server, by one of its drivers in turn; soaked by each of them."""
    drivers: dict[str, list[Any]] = {}
    for param in EACH_DRIVER:
        server, dialect = DRIVERS[param.values[0]]
        if not only_async or make_url(f"{dialect}://").get_dialect().is_async:
            drivers.setdefault(server, []).append(param)
    return [
        _named(one, name) for turn, name in enumerate(names) for its in drivers.values() for one in one_of(its, turn)
    ]


def behind_a_driver(names: Iterable[str]) -> list[Any]:
    """Params of driver and name: each name with one of the drivers, in turn; soaked with each of them."""
    return [_named(one, name) for turn, name in enumerate(names) for one in one_of(EACH_DRIVER, turn)]


def _named(driver: Any, name: str) -> Any:
    return pytest.param(driver.values[0], name, marks=driver.marks, id=f"{driver.id}-{name}")


@dataclass(frozen=True)
class Clinic:
    """One database with the clinic's tables and a vault, behind one driver; what reaches the driver is seen."""

    driver: str
    engine: Engine | AsyncEngine
    spy: DriverSpy
    opened: OpenedVault
    runner: asyncio.Runner = field(repr=False)

    @property
    def database(self) -> str:
        """sqlite, postgresql or mariadb."""
        return self.engine.dialect.name

    @property
    def is_async(self) -> bool:
        return isinstance(self.engine, AsyncEngine)

    def run(self, work: Callable[[Session], T], **options: Any) -> T:
        """What work gives in a session of its own, which is committed. Behind an async driver, in an AsyncSession."""
        if isinstance(self.engine, AsyncEngine):
            return self.wait(lambda session: session.run_sync(work), **options)
        with Session(self.engine, **options) as session:
            result = work(session)
            session.commit()
            return result

    def wait(self, work: Callable[[AsyncSession], Coroutine[Any, Any, T]], **options: Any) -> T:
        """The same for work that awaits."""

        async def whole() -> T:
            async with AsyncSession(self.engine, **options) as session:  # type: ignore[arg-type]
                result = await work(session)
                await session.commit()
                return result

        return self.runner.run(whole())

    def empty(self) -> None:
        def delete(session: Session) -> None:
            for table in reversed(Base.metadata.sorted_tables):
                session.execute(table.delete())

        self.run(delete)

    def assert_kept_together(self) -> int:
        """Open every sealed value that is stored, and compare its terms; returns how many there were."""
        return self.run(partial(_assert_kept_together, self.opened))


ClinicOf = Callable[[str], Clinic]


def _assert_kept_together(opened: OpenedVault, session: Session) -> int:
    seen = 0
    for table in Base.metadata.sorted_tables:
        rows = session.execute(select(raw_table(table))).mappings().all()
        for column in sealed_columns(table):
            its = opened.field(definition_of(column))
            for row in rows:
                stored = row[column.name]
                value = its.open(stored, {name: row[name] for name in its.bound_names} or None)
                assert (stored is None) == (value is None)
                seen += value is not None
                terms = its.terms(value)
                found = {name: None if row[name] is None else bytes(row[name]) for name in terms}
                assert found == terms, f"{table.name}.{column.name} has terms of another value"
    return seen


@contextmanager
def open_clinic(driver: str, url: URL, opened: OpenedVault, runner: asyncio.Runner) -> Iterator[Clinic]:
    spy, written = DriverSpy(), url.render_as_string(hide_password=False)
    if url.get_dialect().is_async:
        engine = spy.async_engine(written)
        attach(engine, opened)

        async def create() -> None:
            async with engine.begin() as connection:
                await connection.run_sync(Base.metadata.create_all)

        runner.run(create())
        yield Clinic(driver, engine, spy, opened, runner)
        runner.run(engine.dispose())
        return
    plain = spy.engine(written)
    attach(plain, opened)
    Base.metadata.create_all(plain)
    yield Clinic(driver, plain, spy, opened, runner)
    plain.dispose()


def server_of(driver: str, node: pytest.Item) -> str:
    """sqlite, postgres or mariadb; the test is not run where that is not on this machine."""
    server = DRIVERS[driver][0]
    need_database(node, server)
    return server
