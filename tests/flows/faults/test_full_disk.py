"""The disk is full in the middle of a run: it ends with a clear line, and goes on when there is room again."""

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.flows.faults.runs import run, run_to_the_end
from tests.flows.faults.visits import Place, as_first, make_visits, require_whole, rotate
from tests.servers.not_run import need_program
from tests.servers.postgres import fresh_database, postgres_server
from vault.project import Project

ROWS = 2_000
PAGE = 4096


@contextmanager
def small_disk(node: pytest.Item, mebibytes: int) -> Iterator[Path]:
    """A disk in memory that soon is full; only root can mount one."""
    need_program(node, "mount", "apt-get install mount")
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    folder.chmod(0o755)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=755", "none", str(folder)],
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        node.user_properties.append(("not run", "no small disk can be mounted; type: sudo scripts/test"))
        folder.rmdir()
        pytest.skip("no small disk can be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)
        folder.rmdir()


def fill_up(folder: Path) -> Path:
    """To the last page."""
    ballast = folder / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(PAGE)):
            pass
    return ballast


def require_goes_on(project: Project, folder: Path, key_id: bytes) -> None:
    status, again = run_to_the_end(Place(folder))
    assert status == 0, again.told("refused")
    require_whole(project, as_first(ROWS), key_id)


def test_sqlite_on_a_full_disk(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The journal of a batch needs more room than there is."""
    with small_disk(request.node, 16) as disk:
        project = make_visits(tmp_path, f"sqlite:///{disk / 'application.db'}", ROWS)
        key_id = rotate(project)
        with run(Place(tmp_path), 100, rate=1000.0) as one:
            assert one.until_told("advanced", 2)
            ballast = fill_up(disk)
            assert one.end() == 1
            assert "has no room" in one.message
            assert "go on by the same command" in one.message
        ballast.unlink()
        require_whole(project, as_first(ROWS))
        require_goes_on(project, tmp_path, key_id)
        project.close()


@pytest.mark.postgres
def test_postgresql_on_a_full_disk(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A tablespace of its own for the data, so that the server itself goes on."""
    with small_disk(request.node, 24) as disk, postgres_server() as server:
        room = disk / "room"
        room.mkdir(mode=0o700)
        owner = pwd.getpwnam("pgserver")
        os.chown(room, owner.pw_uid, owner.pw_gid)
        admin = create_engine(server, isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(f"CREATE TABLESPACE small LOCATION '{room}'"))
            with fresh_database(server) as url:
                name = url.rpartition("/")[2].partition("?")[0]
                connection.execute(text(f"ALTER DATABASE {name} SET default_tablespace = small"))
                project = make_visits(tmp_path, url, ROWS)
                key_id = rotate(project)
                with run(Place(tmp_path), 100, rate=1000.0) as one:
                    assert one.until_told("advanced", 2)
                    ballast = fill_up(disk)
                    assert one.end() == 1
                    assert "has no room" in one.message
                    assert "go on by the same command" in one.message
                require_whole(project, as_first(ROWS))
                ballast.unlink()
                require_goes_on(project, tmp_path, key_id)
                with project.engine.begin() as data:
                    for table in ("visit", "noisevault_job", "noisevault_quarantine"):
                        data.execute(text(f"DROP TABLE {table}"))
                project.close()
            connection.execute(text("DROP TABLESPACE small"))
        admin.dispose()
