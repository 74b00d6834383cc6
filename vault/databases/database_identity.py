"""Database identity: what one database is told from all others by: how it is addressed, and what its server says.

The address is without user, password and query. Of a server elsewhere it is host, port and name; a name that only this
machine knows (a socket, localhost, a file) is told apart by the machine's name. PostgreSQL says by which cluster and
with which number it serves the database, MariaDB which server, or which cluster of Galera, it is. Two addresses of one
database count as two, unless PostgreSQL shows that one run of the server is behind both; two databases never as one.
"""

import hashlib
import os
import socket
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import URL, Engine

from vault.errors import KeyInUseError

__all__ = ["DatabaseIdentity", "identify", "identity_of"]

PORTS: Final = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
LONGEST_PLACE: Final = 500
LONGEST_INSTANCE: Final = 150
# Each may be refused to a role, or not be there.
CLUSTER: Final = "SELECT system_identifier FROM pg_catalog.pg_control_system()"
NUMBER: Final = "SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
SINCE: Final = "SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())"  # in microseconds
SCHEMA: Final = "SELECT pg_catalog.current_schema()"  # in which tables are that are named without one
NAME: Final = {"postgresql": "SELECT pg_catalog.current_database()", "mysql": "SELECT DATABASE()"}
SERVER: Final = "SELECT @@server_uid"
# Of Galera, whose nodes hold the same rows behind one address; zeros, or nothing, elsewhere.
GALERA: Final = (
    "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'WSREP_CLUSTER_STATE_UUID'"
)


@dataclass(frozen=True, slots=True)
class DatabaseIdentity:
    """place: the address, for people; two databases may have one. said: what else tells it apart.

    instance: the run of a PostgreSQL server and the database in it, the same by whatever address; empty elsewhere. A
    copy of the server has another, and a restart, after which everybody connects anew, gives one.
    """

    place: str
    said: str = ""
    instance: str = ""

    @property
    def digest(self) -> str:
        """64 hexadecimal digits, as it is recorded."""
        return hashlib.sha256(f"{self.place}\n{self.said}".encode()).hexdigest()


def identify(connection: Any, backend: str, url: URL, machine: str | None = None) -> DatabaseIdentity | None:
    """The identity of what a driver's connection is connected to; None for SQLite in memory, which its process ends.

    backend: the name of the engine's dialect. machine: its name, asked of the system unless given. What was begun
    on the connection is rolled back.
    """
    here = socket.gethostname() if machine is None else machine
    cursor = connection.cursor()
    try:
        if backend == "sqlite":
            return _file(cursor, here)
        return _served(connection, cursor, backend, url, here)
    finally:
        cursor.close()
        if backend != "sqlite":  # where it is no transaction, and another's may be open on the one connection
            connection.rollback()


def identity_of(engine: Engine) -> DatabaseIdentity:
    """Of the database that the engine connects to. Raises: KeyInUseError for one in memory."""
    with engine.connect() as connection:
        found = identify(connection.connection.dbapi_connection, engine.dialect.name, engine.url)
    if found is None:
        raise KeyInUseError("a database in memory ends with its process: no key is retired from there")
    return found


def _file(cursor: Any, here: str) -> DatabaseIdentity | None:
    cursor.execute("PRAGMA database_list")
    file = next(str(row[2] or "") for row in cursor.fetchall() if row[1] == "main")
    return DatabaseIdentity(f"sqlite:///{os.path.realpath(file)} on {here}"[:LONGEST_PLACE]) if file else None


def _served(connection: Any, cursor: Any, backend: str, url: URL, here: str) -> DatabaseIdentity:
    family = "postgresql" if backend == "postgresql" else "mysql"
    name = _one(connection, cursor, NAME[family]) or url.database or ""
    host = str(url.host or url.query.get("host") or url.query.get("unix_socket") or "").lower().rstrip(".")
    port = url.port or url.query.get("port") or PORTS[backend]
    local = _is_local(host)
    place = f"{family}://{host or 'localhost'}{'' if host.startswith('/') else f':{port}'}/{name}"
    if local:
        place += f" on {here}"
    if family == "postgresql":
        asked = (CLUSTER, NUMBER, SCHEMA, SINCE)
        cluster, number, schema, since = (_one(connection, cursor, question) for question in asked)
        if schema not in {"", "public"}:
            place += f", schema {schema}"
        instance = f"{cluster} {number} {schema} {since}" if cluster and number and since else ""
        return DatabaseIdentity(place[:LONGEST_PLACE], f"{cluster} {number} {schema}", instance[:LONGEST_INSTANCE])
    # Elsewhere too: a short name, such as "db", leads to another server in each network.
    nodes = _one(connection, cursor, GALERA)
    return DatabaseIdentity(place[:LONGEST_PLACE], nodes if nodes.strip("0-") else _one(connection, cursor, SERVER))


def _is_local(host: str) -> bool:
    return host in {"", "localhost", "::1"} or host.startswith(("127.", "/", "@"))


def _one(connection: Any, cursor: Any, question: str) -> str:
    """Empty where it is not told."""
    try:
        cursor.execute(question)
        found = cursor.fetchone()
    except Exception:  # noqa: BLE001  # the driver's own errors: this says less then, and no harm is done
        connection.rollback()
        return ""
    return "" if found is None or found[0] is None else str(found[0])
