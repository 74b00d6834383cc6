"""Transactions: run again as a whole when the database asks for it, and safe when the answer to COMMIT is lost."""

import gc
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy import Connection, Engine, create_engine, func, insert, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import NullPool

from dp.errors import BudgetExhaustedError
from dp.ledger.answers import Claim
from dp.ledger.errors import LedgerUnavailableError
from dp.ledger.ledger import Ledger
from dp.ledger.log.audit import AuditLog
from dp.ledger.store.schema import audit, budget, charge
from dp.ledger.store.transaction import Transactions
from tests.dp.ledger.dropping_proxy import DroppingProxy
from tests.dp.ledger.sealing import AuditKeys, a_request, ledger_on
from tests.prepared import PreparedDatabases
from tests.servers.databases import SERVERS

EPSILON = 10**9

# Fails the first transactions that wrote to the log, at once or at COMMIT; a sequence is never rolled back,
# so it counts them.
FAIL_COMMITS = """
CREATE SEQUENCE commits;
CREATE FUNCTION fail_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('commits') <= {failures} THEN
    RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '{sqlstate}';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fail_commit AFTER INSERT ON noisevault_audit
  DEFERRABLE INITIALLY {when} FOR EACH ROW EXECUTE FUNCTION fail_commit();
"""


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Engine]:
    engine = create_engine(postgres_url)
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", EPSILON)
    yield engine
    engine.dispose()


def fail_commits(engine: Engine, failures: int, sqlstate: str, when: str = "DEFERRED") -> None:
    with engine.begin() as connection:
        connection.execute(text(FAIL_COMMITS.format(failures=failures, sqlstate=sqlstate, when=when)))


@pytest.mark.postgres
@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
@pytest.mark.parametrize("another", [None, 300_000_000, 500_000_000])
def test_k23_05_a_serialization_failure_at_commit_runs_the_whole_check_again(
    postgres: Engine, sqlstate: str, another: int | None
) -> None:
    """Two commits fail, and another charge slips in between: it counts, also when that leaves too little."""
    fail_commits(postgres, 2, sqlstate)
    pauses: list[float] = []

    def slip_in(pause: float) -> None:
        pauses.append(pause)
        if another and len(pauses) == 2:
            ledger_on(postgres).charge(a_request(another, "another", principal="bob"))

    ledger = ledger_on(postgres, sleep=slip_in)
    if another == 500_000_000:
        with pytest.raises(BudgetExhaustedError, match=r" 0\.5 left"):
            ledger.charge(a_request(600_000_000))
        assert ledger.status("people").spent == 500_000_000
    else:
        assert isinstance(ledger.charge(a_request(600_000_000)), Claim)
        assert ledger.status("people").spent == 600_000_000 + (another or 0)
    assert len(pauses) == 2
    ledger.verify_audit()


@pytest.mark.postgres
@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_failure_before_the_commit_runs_the_whole_check_again_too(postgres: Engine, sqlstate: str) -> None:
    fail_commits(postgres, 2, sqlstate, when="IMMEDIATE")
    pauses: list[float] = []
    claim = ledger_on(postgres, sleep=pauses.append).charge(a_request())
    assert isinstance(claim, Claim)
    assert (claim.attempt, len(pauses)) == (1, 2)
    assert ledger_on(postgres).verify_audit().charges == 1


@pytest.mark.postgres
def test_a_commit_that_never_serializes_ends_in_one_typed_error_and_no_charge(postgres: Engine) -> None:
    fail_commits(postgres, 10**6, "40001")
    pauses: list[float] = []
    ledger = ledger_on(postgres, sleep=pauses.append)
    with pytest.raises(LedgerUnavailableError, match="nothing was recorded") as failure:
        ledger.charge(a_request())
    assert not failure.value.unsure
    assert failure.value.__context__ is None
    assert len(pauses) == 9
    assert ledger.status("people").spent == 0


# MariaDB has no trigger at COMMIT; this one is in the transaction. Its sequences are not rolled back either.
FAIL_ENTRIES = """
CREATE TRIGGER fail_entry BEFORE INSERT ON noisevault_audit FOR EACH ROW
  IF NEXTVAL(entries) <= 2 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = {number}; END IF
"""


@pytest.mark.mariadb
@pytest.mark.parametrize("number", [1205, 1213, 1020])
def test_on_mariadb_a_deadlock_runs_the_whole_check_again(mariadb_url: str, number: int) -> None:
    engine = create_engine(mariadb_url)
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", EPSILON)
    with engine.begin() as connection:
        connection.execute(text("CREATE SEQUENCE entries"))
        connection.execute(text(FAIL_ENTRIES.format(number=number)))
    pauses: list[float] = []
    claim = ledger_on(engine, sleep=pauses.append).charge(a_request())
    assert isinstance(claim, Claim)
    assert (claim.attempt, len(pauses)) == (1, 2)
    assert ledger.verify_audit().charges == 1
    engine.dispose()


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, prepared: PreparedDatabases, tmp_path: Path) -> Iterator[Engine]:
    """Of each kind, with a ledger."""
    engine = create_engine(prepared.url(request.param, request, tmp_path))
    ledger_on(engine).declare("people", EPSILON)
    yield engine
    engine.dispose()


@pytest.fixture
def proxy(server: Engine) -> Iterator[DroppingProxy]:
    proxy = DroppingProxy(server.url.render_as_string(hide_password=False))
    yield proxy
    proxy.close()


@pytest.mark.parametrize("drop", ["commit", "answer"])
def test_a_charge_whose_commit_has_no_answer_is_charged_once(server: Engine, proxy: DroppingProxy, drop: str) -> None:
    engine = create_engine(proxy.url, poolclass=NullPool)
    ledger = ledger_on(engine, sleep=lambda _: None)
    ledger.status("people")
    proxy.drop = drop
    claim = ledger.charge(a_request(600_000_000))
    assert proxy.dropped == 1
    assert isinstance(claim, Claim)
    assert claim.attempt == 1
    assert ledger.status("people").spent == 600_000_000
    assert ledger.store(claim, b"41.5") == b"41.5"
    assert ledger.verify_audit().charges == 1


@pytest.mark.parametrize("drop", ["commit", "answer"])
def test_an_answer_whose_commit_has_no_answer_is_stored_once(server: Engine, proxy: DroppingProxy, drop: str) -> None:
    ledger = ledger_on(create_engine(proxy.url, poolclass=NullPool), sleep=lambda _: None)
    claim = ledger.charge(a_request(600_000_000))
    assert isinstance(claim, Claim)
    proxy.drop = drop
    assert ledger.store(claim, b"41.5") == b"41.5"
    assert ledger.verify_audit().answers == 1


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # PyMySQL's, of a connection that failed
def test_when_the_server_stays_away_after_a_lost_commit_the_caller_is_told_that_nobody_knows(
    server: Engine, proxy: DroppingProxy
) -> None:
    ledger = ledger_on(create_engine(proxy.url, poolclass=NullPool), sleep=lambda _: proxy.close())
    ledger.status("people")
    proxy.drop = "answer"
    with pytest.raises(LedgerUnavailableError, match="may or may not be recorded") as failure:
        ledger.charge(a_request())
    assert failure.value.unsure
    gc.collect()


class LosesCommits(sqlite3.Connection):
    """Commits, and then fails as if it had not."""

    left: ClassVar[int] = 0

    def commit(self) -> None:
        was_open = self.in_transaction
        super().commit()
        if was_open and LosesCommits.left:
            LosesCommits.left -= 1
            raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    engine = create_engine(f"sqlite:///{path}")
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", EPSILON)
    engine.dispose()
    return path


def test_on_sqlite_a_commit_that_fails_after_it_was_done_is_charged_once(sqlite_file: Path) -> None:
    engine = create_engine(f"sqlite:///{sqlite_file}", connect_args={"factory": LosesCommits})
    ledger = ledger_on(engine, sleep=lambda _: None)
    LosesCommits.left = 1
    assert isinstance(ledger.charge(a_request(600_000_000)), Claim)
    assert LosesCommits.left == 0
    assert ledger.status("people").spent == 600_000_000
    assert ledger.verify_audit().charges == 1
    engine.dispose()


def test_on_sqlite_a_commit_is_on_the_disk_and_begins_with_the_write_lock(sqlite_file: Path) -> None:
    engine = create_engine(f"sqlite:///{sqlite_file}")
    seen: list[Any] = []

    def work(connection: Connection, unsure: bool) -> None:
        seen.append(connection.exec_driver_sql("PRAGMA journal_mode").scalar())
        seen.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())
        other = sqlite3.connect(sqlite_file, timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()

    Transactions(engine).run(work)
    assert seen == ["wal", 2]
    engine.dispose()


def test_on_sqlite_no_statement_is_compiled_anew_by_the_next_transaction(sqlite_file: Path) -> None:
    """A PRAGMA of this kind expires all that the connection has compiled; a charge took twice as long by it."""
    engine, sent = create_engine(f"sqlite:///{sqlite_file}"), list[str]()
    with engine.connect() as connection:
        connection.connection.driver_connection.set_trace_callback(sent.append)  # type: ignore[union-attr]
    transactions = Transactions(engine)
    for _ in range(2):
        transactions.run(lambda _connection, _unsure: None)
        with transactions.snapshot():
            pass
    engine.dispose()
    assert sent.count("BEGIN IMMEDIATE") == 2
    assert {each.split("=")[0].strip() for each in sent if "PRAGMA" in each} == {
        "PRAGMA busy_timeout",
        "PRAGMA synchronous",
    }


def test_on_sqlite_who_finds_the_lock_taken_waits_for_it(sqlite_file: Path) -> None:
    holder = sqlite3.connect(sqlite_file, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    engine = create_engine(f"sqlite:///{sqlite_file}")
    timer = threading.Timer(0.3, holder.rollback)
    timer.start()
    assert isinstance(ledger_on(engine).charge(a_request()), Claim)
    timer.join()
    holder.close()
    engine.dispose()


def test_who_waits_in_vain_is_told_so_and_nothing_is_recorded(
    ledger: Ledger, engine: Engine, database_url: str
) -> None:
    held, release = threading.Event(), threading.Event()

    def hold(connection: Connection, unsure: bool) -> None:
        AuditLog(AuditKeys(), lambda: 0).lock(connection)
        held.set()
        release.wait(30)

    holder = threading.Thread(target=Transactions(engine).run, args=(hold,))
    holder.start()
    held.wait(30)
    pauses: list[float] = []
    waiting = Transactions(engine, attempts=3, lock_wait=20, sleep=pauses.append)
    with pytest.raises(LedgerUnavailableError, match="stays busy, and nothing was recorded"):
        waiting.run(lambda connection, _: AuditLog(AuditKeys(), lambda: 0).lock(connection))
    assert len(pauses) == 2
    release.set()
    holder.join()


def test_work_that_fails_leaves_nothing_behind(ledger: Ledger, engine: Engine) -> None:
    def work(connection: Connection, unsure: bool) -> None:
        connection.execute(budget.delete())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Transactions(engine).run(work)
    assert ledger.status("people").lifetime == EPSILON


def test_an_error_that_is_nobody_elses_fault_is_not_tried_again(ledger: Ledger, engine: Engine) -> None:
    runs = []

    def work(connection: Connection, unsure: bool) -> None:
        runs.append(unsure)
        connection.execute(insert(audit).values(sequence=1, entry="", key_id="", mac=""))

    with pytest.raises(IntegrityError):
        Transactions(engine).run(work)
    assert runs == [False]


def test_a_snapshot_sees_one_state_while_others_charge(ledger: Ledger, engine: Engine) -> None:
    count = select(func.count()).select_from(charge)
    with Transactions(engine).snapshot() as connection:
        assert connection.scalar(count) == 0
        ledger.charge(a_request())
        assert connection.scalar(count) == 0
    with engine.connect() as connection:
        assert connection.scalar(count) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("own", [None, "AUTOCOMMIT", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_on_postgresql_the_isolation_is_ours_and_the_engine_keeps_its_own(postgres_url: str, own: str | None) -> None:
    """Often enough that the driver would have prepared what is sent, if it could."""
    engine = create_engine(postgres_url, **({} if own is None else {"isolation_level": own}))
    settings = "SELECT current_setting('transaction_isolation'), current_setting('lock_timeout')"
    with engine.connect() as connection:
        before = connection.exec_driver_sql(settings).one()
    transactions = Transactions(engine, lock_wait=1500)
    for _ in range(12):
        inside = transactions.run(lambda connection, _: tuple(connection.exec_driver_sql(settings).one()))
        assert inside == ("read committed", "1500ms")
        with transactions.snapshot() as connection:
            assert tuple(connection.exec_driver_sql(settings).one()) == ("repeatable read", "1500ms")
    with engine.connect() as connection:
        assert connection.exec_driver_sql(settings).one() == before
    engine.dispose()


def test_a_database_that_is_not_there_is_one_typed_error_without_its_address(tmp_path: Path) -> None:
    ledger = ledger_on(create_engine(f"sqlite:///{tmp_path / 'nowhere' / 'ledger.db'}"))
    calls: list[Callable[[], object]] = [lambda: ledger.charge(a_request()), lambda: ledger.status("people")]
    for call in calls:
        with pytest.raises(LedgerUnavailableError, match="see that it runs") as failure:
            call()
        assert "nowhere" not in str(failure.value)


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    refused: list[str] = []

    def charge_one(number: int) -> None:
        try:
            ledger.charge(a_request(EPSILON // 4, f"question {number}"))
        except BudgetExhaustedError:
            refused.append("")

    threads = [threading.Thread(target=charge_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 4
    assert ledger.status("people").remaining == 0


def test_a_forked_child_does_not_use_its_parents_connections(ledger: Ledger) -> None:
    ledger.charge(a_request(question_text="the parent's"))
    child = os.fork()
    if child == 0:
        try:
            ledger.charge(a_request(question_text="the child's"))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ledger.charge(a_request(question_text="the parent's other"))
    assert ledger.verify_audit().charges == 3
