import itertools
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from kms import AccessDeniedError, LeaseExpiredError, UnavailableError
from tests.servers.databases import SERVERS
from vault.errors import JobError
from vault.jobs.outage import Outage, is_outage


class Fails:
    """Raises these errors one after the other, then gives "done"."""

    def __init__(self, *errors: Exception) -> None:
        self.left = list(errors)

    def __call__(self) -> str:
        if self.left:
            raise self.left.pop(0)
        return "done"


def patient(patience: float, told: list[str]) -> Outage:
    return Outage(
        patience,
        lambda reason, _seconds: told.append(reason),
        clock=itertools.count().__next__,
        sleep=lambda _seconds: None,
    )


def test_a_service_that_does_not_answer_is_waited_for() -> None:
    told: list[str] = []
    call = Fails(UnavailableError("sealed"), LeaseExpiredError("too old"))
    assert patient(60, told).outlast(call) == "done"
    assert told == ["sealed", "too old"]


def test_patience_ends_with_what_to_do() -> None:
    call = Fails(*[UnavailableError("the key service is sealed")] * 100)
    with pytest.raises(JobError, match=r"is sealed; what was written so far stays: .* go on by the same command"):
        patient(5, []).outlast(call)
    assert 90 < len(call.left) < 100


def test_one_who_stops_does_not_wait_for_the_end_of_an_outage() -> None:
    call = Fails(*[UnavailableError("sealed")] * 100)
    with pytest.raises(JobError):
        Outage(1000, given_up=lambda: True).outlast(call)
    assert len(call.left) == 99


def test_a_refusal_is_no_outage() -> None:
    call = Fails(AccessDeniedError("no"))
    with pytest.raises(AccessDeniedError):
        patient(60, []).outlast(call)


CUT = {
    "postgresql": "SELECT pg_terminate_backend({}) -- {}",
    "mysql": "KILL {}",
}
OWN = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_a_connection_that_was_cut_is_an_outage_and_the_next_one_serves(database_url: str) -> None:
    engine, killer = create_engine(database_url), create_engine(database_url)
    cut: list[int] = []

    def once() -> int:
        with engine.connect() as connection:
            own = connection.scalar(text(OWN[engine.dialect.name]))
            if not cut:
                cut.append(own)
                with killer.connect() as other:
                    other.execute(text(CUT[engine.dialect.name].format(own, ""))).close()
            return int(connection.scalar(text("SELECT 7")))

    told: list[str] = []
    assert Outage(30, lambda reason, _: told.append(reason)).outlast(once) == 7
    assert len(told) == 1
    assert told[0].startswith("the database does not answer (")


@pytest.mark.parametrize(
    "url", ["postgresql+psycopg://u@127.0.0.1:1/x", "mariadb+pymysql://u@127.0.0.1:1/x"], ids=["postgres", "mariadb"]
)
def test_a_server_that_is_not_there_is_an_outage(url: str) -> None:
    with pytest.raises(DBAPIError) as caught:
        create_engine(url).connect()
    assert is_outage(caught.value)


def test_a_statement_that_cannot_work_is_none(database_url: str) -> None:
    with create_engine(database_url).connect() as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(text("SELECT nothing FROM nowhere"))
    assert not is_outage(caught.value)
    assert not is_outage(ValueError())


def test_a_lock_that_somebody_holds_for_long_is_told_as_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'held.db'}"
    other = create_engine(url, connect_args={"timeout": 0.01})

    def write() -> None:
        with other.begin() as connection:
            connection.execute(text("INSERT INTO t VALUES (1)"))

    with create_engine(url).begin() as holder:
        holder.execute(text("CREATE TABLE t (x INTEGER)"))
        holder.execute(text("INSERT INTO t VALUES (1)"))
        with pytest.raises(JobError, match=r"is held by somebody else \(OperationalError\); what was written"):
            patient(3, []).outlast(write)
