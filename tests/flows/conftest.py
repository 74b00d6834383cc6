"""The command line fixtures and the key services, for whole flows; and the clinic's tables behind each driver."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

import pytest
from sqlalchemy import make_url

from tests.flows.clinics import DRIVERS, EACH_DRIVER, Clinic, ClinicOf, open_clinic, server_of
from tests.kms.providers.conftest import aws, aws_login, moto_url, transit
from tests.servers import mariadb, postgres
from tests.vault.cli.conftest import loaded, run
from tests.vault.mapping.conftest import opened
from vault.opened import OpenedVault

__all__ = ["aws", "aws_login", "loaded", "moto_url", "opened", "run", "transit"]


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@contextmanager
def clinics(
    fresh: partial[AbstractContextManager[str]], opened: OpenedVault, runner: asyncio.Runner
) -> Iterator[ClinicOf]:
    """Opens one clinic a driver, the first time that it is asked for, in a database of its own."""
    made: dict[str, Clinic] = {}
    with ExitStack() as stack:

        def clinic_of(driver: str) -> Clinic:
            if driver not in made:
                url = make_url(stack.enter_context(fresh())).set(drivername=DRIVERS[driver][1])
                made[driver] = stack.enter_context(open_clinic(driver, url, opened, runner))
            return made[driver]

        yield clinic_of


@pytest.fixture(scope="session")
def sqlite_clinics(
    opened: OpenedVault, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClinicOf]:
    @contextmanager
    def fresh() -> Iterator[str]:
        yield f"sqlite:///{tmp_path_factory.mktemp('clinic') / 'clinic.db'}"

    with clinics(partial(fresh), opened, runner) as clinic_of:
        yield clinic_of


@pytest.fixture(scope="session")
def postgres_clinics(opened: OpenedVault, runner: asyncio.Runner, postgres_server_url: str) -> Iterator[ClinicOf]:
    with clinics(partial(postgres.fresh_database, postgres_server_url), opened, runner) as clinic_of:
        yield clinic_of


@pytest.fixture(scope="session")
def mariadb_clinics(opened: OpenedVault, runner: asyncio.Runner, mariadb_server_url: str) -> Iterator[ClinicOf]:
    with clinics(partial(mariadb.fresh_database, mariadb_server_url), opened, runner) as clinic_of:
        yield clinic_of


@pytest.fixture(params=EACH_DRIVER)
def clinic(request: pytest.FixtureRequest) -> Iterator[Clinic]:
    """Empty tables behind each driver; at the end, no plain value has reached it."""
    server = server_of(request.param, request.node)
    clinic = request.getfixturevalue(f"{server}_clinics")(request.param)
    clinic.spy.sent.clear()
    yield clinic
    seen = clinic.spy.saw_plaintext()
    clinic.empty()
    assert not seen
