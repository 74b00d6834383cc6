"""A real MariaDB from the system's package, one server a session; each test gets a database of its own."""

import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import geteuid
from pathlib import Path

from sqlalchemy import Engine, create_engine, make_url, text

from tests.servers.openbao import dies_with_parent

PROGRAM = "mariadbd"
INSTALL = "apt-get install mariadb-server"
READY_WITHIN_SECONDS = 60
# The data outlives nothing: speed before durability.
SETTINGS = (
    "--skip-networking",
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--max-connections=200",
)


@contextmanager
def mariadb_server(mariadbd: str) -> Iterator[str]:
    """Give the SQLAlchemy URL of the server, which listens on a socket only."""
    base = Path(tempfile.mkdtemp(prefix="maria-"))  # not pytest's own directory: the path of a socket is short
    data, socket, log = base / "data", base / "socket", base / "log"
    as_root = ["--user=root"] if geteuid() == 0 else []
    place = ["--no-defaults", *as_root, f"--datadir={data}", f"--tmpdir={base}"]  # a server that starts empties its own
    install = ["mariadb-install-db", *place, "--skip-test-db", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=READY_WITHIN_SECONDS)
    command = [*dies_with_parent(), mariadbd, *place, f"--socket={socket}"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, f"--pid-file={base / 'pid'}", *SETTINGS],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(process, log)
        # By a socket there is no TLS; PyMySQL would read all certificates of the machine before each connection.
        yield f"mysql+pymysql://root@/?unix_socket={socket}&ssl_disabled=true"
    finally:
        process.kill()  # nothing is kept, so nothing is written back
        process.wait()
        shutil.rmtree(base, ignore_errors=True)


def _wait_for(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if b"ready for connections" in log.read_bytes():
            return
        time.sleep(0.01)
    raise RuntimeError(log.read_text(errors="replace"))


@contextmanager
def fresh_database(server_url: str, driver: str = "mysql+pymysql") -> Iterator[str]:
    """Give the URL of a new database. driver: mysql+pymysql or mariadb+pymysql, two names for one dialect."""
    name = f"t_{secrets.token_hex(6)}"
    admin = create_engine(server_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} CHARACTER SET utf8mb4"))
    try:
        yield make_url(server_url).set(drivername=driver, database=name).render_as_string(hide_password=False)
    finally:
        _drop(admin, name)
        admin.dispose()


def _drop(admin: Engine, name: str) -> None:
    """Whoever is still connected is cut off: a table in use would not be dropped."""
    with admin.connect() as connection:
        users = connection.scalars(
            text("SELECT id FROM information_schema.processlist WHERE db = :name"), {"name": name}
        ).all()
        for user in users:
            connection.execute(text(f"BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; KILL {user}; END"))
        connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
