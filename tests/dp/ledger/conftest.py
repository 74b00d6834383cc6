"""A ledger with one dataset, on each kind of database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import metadata
from tests.dp.ledger.sealing import AuditKeys, ledger_on, make_tables
from tests.prepared import PreparedDatabases
from tests.servers.databases import DATABASES

EPSILON = 10**9


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedDatabases:
    """Databases with the tables of a ledger."""
    return PreparedDatabases(make_tables, metadata.sorted_tables, tmp_path_factory.mktemp("prepared"))


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path, prepared: PreparedDatabases) -> str:
    """A database of each kind, with the tables of a ledger and no budget in it."""
    if "without_tables" not in request.fixturenames:
        return prepared.url(request.param, request, tmp_path)
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'application.db'}"
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def without_tables() -> None:
    """For a test of how they are made: its database is fresh and empty."""


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def audit_keys() -> AuditKeys:
    return AuditKeys()


@pytest.fixture
def ledger(engine: Engine, audit_keys: AuditKeys) -> Ledger:
    """Dataset "people" may cost epsilon 1."""
    ledger = ledger_on(engine, audit=audit_keys)
    ledger.declare("people", EPSILON)
    return ledger
