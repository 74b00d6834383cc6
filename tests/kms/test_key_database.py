"""The engine of keys and counters: durable, bounded in time, one writer at a time."""

import os
import sqlite3
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from kms.errors import MisconfiguredError, MissingExtraError, UnavailableError
from kms.key_database import close_before_fork, open_key_database, prepare, reading, writing
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.locked_keyring import lock_keyring
from tests.kms.scripted_provider import ScriptedProvider
from tests.servers.databases import SERVERS


def pragma(path: Path, name: str) -> object:
    with reading(open_key_database(f"sqlite:///{path}")) as connection:
        return connection.execute(text(f"PRAGMA {name}")).scalar_one()


@pytest.mark.parametrize(
    ("name", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("secure_delete", 1), ("foreign_keys", 1), ("busy_timeout", 10_000)],
)
def test_sqlite_is_set_up_on_every_connection(tmp_path: Path, name: str, value: object) -> None:
    assert pragma(tmp_path / "keys.db", name) == value


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_finds_no_open_file_and_leaves_memory_alone(tmp_path: Path) -> None:
    file, memory = open_key_database(f"sqlite:///{tmp_path / 'keys.db'}"), create_engine("sqlite://")
    close_before_fork(memory)
    with writing(file), memory.begin() as connection:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
    assert (tmp_path / "keys.db-wal").exists()
    if not (pid := os.fork()):
        os._exit(0)
    os.waitpid(pid, 0)
    assert not (tmp_path / "keys.db-wal").exists(), "the last connection deletes it"
    with memory.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_what_another_thread_writes(tmp_path: Path) -> None:
    engine, inside, leave = open_key_database(f"sqlite:///{tmp_path / 'keys.db'}"), threading.Event(), threading.Event()

    def write() -> None:
        with writing(engine) as connection:
            connection.execute(text("CREATE TABLE t (x INTEGER)"))
            inside.set()
            leave.wait(10)

    writer, leaving = threading.Thread(target=write), threading.Timer(0.3, leave.set)
    writer.start()
    assert inside.wait(10)
    leaving.start()
    if not (pid := os.fork()):
        os._exit((tmp_path / "keys.db-wal").exists())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the file was open when the child was forked"
    writer.join()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0
    engine.dispose()


def test_an_engine_is_prepared_once(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'keys.db'}")
    prepare(engine)
    prepare(engine)
    with writing(engine) as connection:  # a second BEGIN would raise
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
    engine.dispose()


def test_a_writer_holds_the_lock_from_the_start_and_a_reader_does_not_wait_for_it(tmp_path: Path) -> None:
    engine = open_key_database(f"sqlite:///{tmp_path / 'keys.db'}")
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
    with writing(engine):
        with reading(engine) as reader:
            assert reader.execute(text("SELECT count(*) FROM t")).scalar_one() == 0
        other = sqlite3.connect(tmp_path / "keys.db", timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
    engine.dispose()


def test_a_failed_writer_leaves_nothing(database_url: str) -> None:
    engine = open_key_database(database_url)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))

    def fail_half_way() -> None:
        with writing(engine) as connection:
            connection.execute(text("INSERT INTO t VALUES (1)"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0
    engine.dispose()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////nonexistent/folder/keys.db",
        "postgresql+psycopg://nobody:hunter2@127.0.0.1:1/none",
        "postgresql+psycopg://nobody:hunter2@/none?host=/nonexistent",
        "mariadb+pymysql://nobody:hunter2@127.0.0.1:1/none",
    ],
)
def test_a_database_that_does_not_answer_is_unavailable_and_no_password_is_told(url: str) -> None:
    engine = open_key_database(url)
    with pytest.raises(UnavailableError, match="key store") as raised, reading(engine):
        pass
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.parametrize(
    "url",
    [
        "",
        "keys.db",
        "mysql://u:hunter2@h/d",
        "mysql+aiomysql://u:hunter2@h/d",
        "postgresql+asyncpg://u:hunter2@h/d",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_a_database_that_cannot_keep_keys_is_refused_with_those_that_can(url: str) -> None:
    with pytest.raises(MisconfiguredError, match=r"sqlite:///PATH, postgresql.* or mariadb") as raised:
        open_key_database(url)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [("postgresql+psycopg://u@h/d", "psycopg", "postgres"), ("mariadb+pymysql://u@h/d", "pymysql", "mysql")],
)
def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch, url: str, module: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'noisevault\[{extra}\]'"):
        open_key_database(url)


CUT = {
    "postgres": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend({})"),
    "mariadb": ("SELECT connection_id()", "KILL {}"),
}


@pytest.mark.parametrize("server", SERVERS)
def test_a_connection_that_was_cut_is_unavailable_and_the_next_one_works(
    request: pytest.FixtureRequest, server: str
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    who, cut = CUT[server]
    engine = open_key_database(url)
    other = create_engine(url)

    def be_cut() -> None:
        with reading(engine) as connection:
            own = connection.execute(text(who)).scalar_one()
            with other.begin() as admin:
                admin.execute(text(cut.format(own)))
            connection.execute(text("SELECT 1"))

    with pytest.raises(UnavailableError):
        be_cut()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    engine.dispose()
    other.dispose()


@pytest.mark.postgres
def test_every_wait_on_a_server_has_an_end(postgres_url: str) -> None:
    engine = open_key_database(postgres_url)
    with reading(engine) as connection:
        for setting in ("statement_timeout", "lock_timeout"):
            assert connection.execute(text(f"SHOW {setting}")).scalar_one() == "10s"
        assert connection.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one() == "5s"
    engine.dispose()


MARIADB_WAITS = (
    "SELECT @@max_statement_time, @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@idle_transaction_timeout"
)


@pytest.mark.mariadb
def test_every_wait_on_mariadb_has_an_end_and_nothing_is_cut_to_fit(mariadb_url: str) -> None:
    engine = open_key_database(mariadb_url)
    with engine.connect() as connection:
        assert connection.execute(text(MARIADB_WAITS)).one() == (10, 10, 10, 5)
        assert connection.get_isolation_level() == "READ COMMITTED"
        assert "STRICT_ALL_TABLES" in str(connection.scalar(text("SELECT @@sql_mode")))


@pytest.mark.mariadb
def test_a_statement_that_mariadb_ended_is_an_outage(mariadb_url: str) -> None:
    engine = open_key_database(mariadb_url)

    def wait_in_vain() -> None:
        with reading(engine) as connection:
            connection.execute(text("SET SESSION max_statement_time = 0.05"))
            connection.execute(text("SELECT count(*) FROM seq_1_to_1000000000 WHERE seq % 7 = 3"))

    with pytest.raises(UnavailableError, match="max_statement_time"):
        wait_in_vain()
    engine.dispose()


@pytest.mark.mariadb
def test_a_mariadb_server_that_only_reads_is_no_place_for_keys(mariadb_url: str) -> None:
    engine, admin = open_key_database(mariadb_url), create_engine(mariadb_url)
    with admin.connect() as connection:
        connection.execute(text("SET GLOBAL read_only = 1"))
        try:
            with pytest.raises(UnavailableError, match="the server is read-only"), reading(engine):
                pass
        finally:
            connection.execute(text("SET GLOBAL read_only = 0"))
    with reading(engine) as connection:
        assert connection.scalar(text("SELECT 1")) == 1
    engine.dispose()
    admin.dispose()


SOON = {
    "postgres": "SET idle_in_transaction_session_timeout = 100",
    "mariadb": "SET SESSION idle_transaction_timeout = 1",
}


@pytest.mark.parametrize("server", SERVERS)
def test_who_falls_asleep_in_a_transaction_lets_the_others_go_on(request: pytest.FixtureRequest, server: str) -> None:
    url = request.getfixturevalue(f"{server}_url")
    store, other = KeyStore.from_url(url), KeyStore.from_url(url)
    store.create_schema()
    Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    keyring_id = store.load("main").keyring_id

    def fall_asleep() -> None:
        with writing(store.engine) as connection:
            connection.execute(text(SOON[server]))
            lock_keyring(connection, keyring_id)
            with writing(other.engine) as awake:
                lock_keyring(awake, keyring_id)  # ends once the server has ended the sleeper

    with pytest.raises(UnavailableError):
        fall_asleep()
    store.close()
    other.engine.dispose()


def test_a_table_that_is_not_there_for_a_while_is_an_outage(database_url: str) -> None:
    store = KeyStore.from_url(database_url)
    store.create_schema()
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    with writing(store.engine) as connection:
        connection.execute(text("ALTER TABLE noisevault_key RENAME TO elsewhere"))
    with pytest.raises(UnavailableError):
        keyring.records()
    with writing(store.engine) as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO noisevault_key"))
    assert len(keyring.records()) == 3
    store.close()
