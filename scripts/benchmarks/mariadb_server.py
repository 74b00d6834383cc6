"""A MariaDB server of the system's package, for as long as a benchmark runs."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["find_mariadb", "mariadb_server"]

DURABLE = ("--skip-networking", "--skip-log-bin", "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M")
# The data outlives nothing; without waits for the disk, where a benchmark is not about those, the rounds are alike.
SETTINGS = (*DURABLE, "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0")
READY_WITHIN_SECONDS = 60


def find_mariadb() -> str | None:
    """Debian puts it where an ordinary user's PATH does not look."""
    return shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")


@contextmanager
def mariadb_server(*, durable: bool = False) -> Iterator[str]:
    """Give the SQLAlchemy URL of an empty database. durable: a commit waits for the disk."""
    program = find_mariadb()
    if program is None:
        raise FileNotFoundError("mariadbd is not on this machine: apt-get install mariadb-server")
    base = Path(tempfile.mkdtemp(prefix="maria-"))
    socket, log = base / "socket", base / "log"
    user = ["--user=root"] if os.geteuid() == 0 else []
    place = [
        "--no-defaults",
        *user,
        f"--datadir={base / 'data'}",
        f"--tmpdir={base}",
    ]  # a server that starts empties its own
    install = ["mariadb-install-db", *place, "--skip-test-db", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    with log.open("wb") as out:
        command = [
            program,
            *place,
            f"--socket={socket}",
            f"--pid-file={base / 'pid'}",
            *(DURABLE if durable else SETTINGS),
        ]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while b"ready for connections" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(errors="replace"))
            time.sleep(0.05)
        url = f"mysql+pymysql://root@/?unix_socket={socket}"
        yield _database(url)
    finally:
        process.kill()  # nothing is kept, so nothing is written back
        process.wait()
        shutil.rmtree(base, ignore_errors=True)


def _database(url: str) -> str:
    from sqlalchemy import create_engine, make_url, text

    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE DATABASE bench CHARACTER SET utf8mb4"))
    engine.dispose()
    return make_url(url).set(database="bench").render_as_string(hide_password=False)
