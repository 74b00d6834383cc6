"""The servers and databases that tests ask for by name, and what is said at the end of those that are not here."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import QueuePool

from kms.key_database import close_for_good
from tests import in_turn
from tests.left_open import connections_left_open
from tests.servers import mariadb, not_run, softhsm
from tests.servers.bao_server import BaoServer, bao_server
from tests.servers.databases import DATABASES, need_database
from tests.servers.not_run import NotRun, find_program, need_program
from tests.servers.openbao import BaoDev, bao_dev
from tests.servers.postgres import fresh_database, postgres_server
from tests.sharing_out import SharingOut
from tests.sizes import sized

# Of a property that says no number. No deadline: on a busy machine any example may take long.
_AS_IT_WAS = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("sized", _AS_IT_WAS, max_examples=sized(30, 100), deadline=None)
settings.load_profile("sized")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[not_run.KEY] = notes = NotRun()
    config.pluginmanager.register(_Listener(notes))
    for marker in in_turn.MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    in_turn.deselect(config, items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash[not_run.KEY].fails and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    config.stash[not_run.KEY].tell(terminalreporter)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingOut:
    return SharingOut(config, log)


class _Listener:
    """pytest_runtest_logreport has no config of its own; with xdist it is called for every worker's report."""

    def __init__(self, notes: NotRun) -> None:
        self._notes = notes

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._notes.note(report)


@pytest.fixture(scope="session")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaoDev]:
    with bao_dev(tmp_path_factory.mktemp("bao")) as server:
        yield server


@pytest.fixture(scope="session")
def _bao_in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaoServer]:
    with bao_server(tmp_path_factory.mktemp("bao")) as server:
        yield server


@pytest.fixture(scope="session")
def _bao_on_raft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaoServer]:
    with bao_server(tmp_path_factory.mktemp("bao"), raft=True) as server:
        yield server


@pytest.fixture
def bao_tls(_bao_in_memory: BaoServer) -> Iterator[BaoServer]:
    """An OpenBao with TLS, to be sealed or frozen; killed, it would have forgotten all."""
    yield _bao_in_memory
    _bao_in_memory.bring_back()


@pytest.fixture
def bao_raft(_bao_on_raft: BaoServer) -> Iterator[BaoServer]:
    """An OpenBao with TLS that keeps its data when it is killed."""
    yield _bao_on_raft
    _bao_on_raft.bring_back()


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    with fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_server_url() -> Iterator[str]:
    """For fixtures of tests that have asked need_database() before."""
    with mariadb.mariadb_server(str(find_program(mariadb.PROGRAM))) as url:
        yield url


@pytest.fixture
def mariadb_url(request: pytest.FixtureRequest) -> Iterator[str]:
    need_database(request.node, "mariadb")
    with mariadb.fresh_database(request.getfixturevalue("mariadb_server_url")) as url:
        yield url


@pytest.fixture(scope="session")
def softhsm_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home, before = tmp_path_factory.mktemp("softhsm"), os.environ.get("SOFTHSM2_CONF")
    softhsm.softhsm_home(home)
    yield home
    del os.environ["SOFTHSM2_CONF"]
    if before is not None:
        os.environ["SOFTHSM2_CONF"] = before


@pytest.fixture
def token(request: pytest.FixtureRequest, softhsm_home: Path) -> softhsm.Token:
    """A fresh SoftHSM token, with an AES key named kek."""
    return _token(request, softhsm_home)


@pytest.fixture
def other_token(request: pytest.FixtureRequest, softhsm_home: Path) -> softhsm.Token:
    """Another one, with a key of the same name."""
    return _token(request, softhsm_home)


def _token(request: pytest.FixtureRequest, home: Path) -> softhsm.Token:
    return softhsm.new_token(need_program(request.node, "softhsm2-util", softhsm.INSTALL), home)


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'application.db'}"
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(scope="session", autouse=True)
def nothing_left_open() -> Iterator[None]:
    """At the very end: no connection was left to the collector, by a test or by what it tests."""
    with connections_left_open() as left:
        yield
        gc.collect()
    assert not left, "left open, see closed_connections:\n" + "\n".join(left)


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    """Every engine that a test connected by is closed after it: no connection is left to the collector."""
    engines: set[Engine] = set()

    def remember(connection: Connection) -> None:
        engines.add(connection.engine)

    event.listen(Engine, "engine_connect", remember)
    yield
    event.remove(Engine, "engine_connect", remember)
    for engine in engines:
        if not engine.dialect.is_async:  # whose fixture has the event loop that they are closed in
            close_connections(engine)


def close_connections(engine: Engine) -> None:
    """Now, or when they are given back, as by the thread of a keyring; the engine may be used again."""
    if engine.dialect.name == "sqlite" and isinstance(engine.pool, QueuePool):
        close_for_good(engine)  # a thread that goes on for a while may connect once more
    else:
        engine.dispose()
