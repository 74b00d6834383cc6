"""The servers and databases that tests ask for by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from tests.servers.openbao import BaoDev, bao_dev
from tests.servers.postgres import fresh_database, postgres_server


@pytest.fixture(scope="session")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaoDev]:
    with bao_dev(tmp_path_factory.mktemp("bao")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    with fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'application.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    """Every engine that a test connected by is disposed of after it: no connection is left to the collector."""
    engines: set[Engine] = set()

    def remember(connection: Connection) -> None:
        engines.add(connection.engine)

    event.listen(Engine, "engine_connect", remember)
    yield
    event.remove(Engine, "engine_connect", remember)
    for engine in engines:
        engine.dispose()
