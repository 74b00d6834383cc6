"""Prepared: a database of each kind whose tables are there already; whoever takes it finds it as it was made.

A server makes a ledger's tables in a time in which it runs several tests. So they are made once a process: on SQLite
the file is copied, on a server the rows go and those of the beginning come back. A test that left other tables,
triggers or functions behind costs the next one a database made anew. Tests of the making itself take a fresh one.
"""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, create_engine, insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from tests.servers import mariadb, postgres
from tests.servers.databases import need_database

Make = Callable[[str], None]


class Prepared(ABC):
    """One database of a server. fresh: an empty one. make: makes its tables and first rows, by the URL."""

    def __init__(self, fresh: Callable[[], AbstractContextManager[str]], make: Make, tables: Sequence[Table]) -> None:
        self._fresh, self._make, self._tables = fresh, make, tables
        self._until_anew = ExitStack()
        self._connection: Connection | None = None
        self._url, self._empty, self._looks = "", "", ""

    def take(self) -> str:
        """The URL of the database, with its first rows alone."""
        if self._connection is None or not self._is_emptied(self._connection):
            self.close()
            self._begin()
        return self._url

    def close(self) -> None:
        self._connection = None
        self._until_anew.close()

    def _begin(self) -> None:
        self._url = self._until_anew.enter_context(self._fresh())
        self._make(self._url)
        # No pool: what closes the engines of a test closes nothing of this one.
        engine = create_engine(self._url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        connection = self._until_anew.enter_context(engine.connect())
        deletes = [f"DELETE FROM {table.name}" for table in reversed(self._tables)]
        inserts = [
            str(insert(table).values(**row).compile(engine, compile_kwargs={"literal_binds": True}))
            for table in self._tables
            for row in connection.execute(table.select()).mappings()
        ]
        self._empty = self._at_once([*deletes, *inserts])
        self._looks = self._look(connection)
        self._connection = connection

    def _is_emptied(self, connection: Connection) -> bool:
        """False if that cannot be done, or leaves something else than tables of the beginning."""
        with suppress(DBAPIError):
            self._end_others(connection)
            if self._look(connection) == self._looks:
                connection.exec_driver_sql(self._empty)
                return True
        return False

    @abstractmethod
    def _at_once(self, statements: Sequence[str]) -> str:
        """The statements as one, wholly done or not at all."""

    @abstractmethod
    def _look(self, connection: Connection) -> str:
        """What there is but rows: other after each change of a table, trigger or function."""

    @abstractmethod
    def _end_others(self, connection: Connection) -> None:
        """Whoever is still connected is cut off: a lock that is held would be waited for."""


class OnPostgres(Prepared):
    def _at_once(self, statements: Sequence[str]) -> str:
        return "; ".join(statements)

    def _look(self, connection: Connection) -> str:
        # xmin: the transaction that wrote the entry of the catalogue.
        found = connection.exec_driver_sql(
            "SELECT (SELECT array_agg((oid, xmin) ORDER BY oid) FROM pg_class WHERE relnamespace = n.oid),"
            " (SELECT array_agg((attrelid, attnum, a.xmin) ORDER BY attrelid, attnum)"
            "  FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = n.oid),"
            " (SELECT array_agg((oid, xmin) ORDER BY oid) FROM pg_proc WHERE pronamespace = n.oid),"
            " (SELECT array_agg((t.oid, t.xmin) ORDER BY t.oid)"
            "  FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = n.oid),"
            " (SELECT array_agg((oid, xmin) ORDER BY oid) FROM pg_namespace)"
            " FROM pg_namespace n WHERE nspname = 'public'"
        )
        return str(found.all())

    def _end_others(self, connection: Connection) -> None:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


class OnMariaDB(Prepared):
    def _at_once(self, statements: Sequence[str]) -> str:
        return f"BEGIN NOT ATOMIC START TRANSACTION; {'; '.join(statements)}; COMMIT; END"

    def _look(self, connection: Connection) -> str:
        return str(
            [
                connection.exec_driver_sql(
                    f"SELECT {what} FROM information_schema.{view} WHERE {of} = DATABASE()"
                ).all()
                for view, what, of in (
                    ("tables", "table_name, create_time, table_type", "table_schema"),
                    ("columns", "table_name, column_name, column_type", "table_schema"),
                    ("statistics", "table_name, index_name, column_name", "table_schema"),
                    ("triggers", "trigger_name", "trigger_schema"),
                    ("routines", "routine_name", "routine_schema"),
                )
            ]
        )

    def _end_others(self, connection: Connection) -> None:
        users = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        for user in connection.scalars(text(users)).all():
            connection.execute(text(f"BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; KILL {user}; END"))


class PreparedDatabases:
    """A prepared database of each kind, made when it is first asked for.

    tables: all that `make` makes, those that others refer to first. folder: where the file to be copied is kept.
    """

    def __init__(self, make: Make, tables: Sequence[Table], folder: Path) -> None:
        self._make, self._tables, self._file = make, tables, folder / "prepared.db"
        self._servers: dict[str, Prepared] = {}

    def url(self, kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
        """folder: where the file goes on SQLite."""
        if kind == "sqlite":
            return f"sqlite:///{self.copied_to(folder / 'application.db')}"
        if kind not in self._servers:
            need_database(request.node, kind)
            self._servers[kind] = server = self._of(kind, request.getfixturevalue(f"{kind}_server_url"))
            request.session.addfinalizer(server.close)  # before the server's own end: the last comes first
        return self._servers[kind].take()

    def copied_to(self, file: Path) -> Path:
        """A copy of the SQLite file."""
        if not self._file.exists():
            self._make(f"sqlite:///{self._file}")
        shutil.copyfile(self._file, file)
        return file

    def _of(self, kind: str, server_url: str) -> Prepared:
        if kind == "postgres":
            return OnPostgres(lambda: postgres.fresh_database(server_url), self._make, self._tables)
        return OnMariaDB(lambda: mariadb.fresh_database(server_url), self._make, self._tables)
