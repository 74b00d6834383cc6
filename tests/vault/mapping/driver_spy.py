"""A spy between SQLAlchemy and the driver: what is really sent. Sealed plain values in the tests carry its mark."""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

import asyncpg
import asyncpg.prepared_stmt
import psycopg
import pymysql.cursors
from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

Note = Callable[[str, Any], Any]

MARK = "plain§"
"""Every text that a test seals contains it, and nothing else does."""
MARKED_NUMBERS = (9173, 9174, 73911.25, 73912.5)
"""The numbers that tests seal."""


class DriverSpy:
    """Keeps the statements and parameters that reached a driver's cursor."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def note(self, sql: str, parameters: Any) -> Any:
        """Keep both, and give the parameters back."""
        self.sent.append((sql, parameters))
        return parameters

    def saw_plaintext(self) -> list[tuple[str, Any]]:
        return [
            (sql, parameters) for sql, parameters in self.sent if MARK in sql or any(map(_is_plain, _flat(parameters)))
        ]

    def engine(self, url: str, **options: Any) -> Engine:
        """An engine whose driver is watched."""
        engine = create_engine(url, connect_args=watched_connection(make_url(url), self.note), **options)
        keep_foreign_keys(engine)
        return engine

    def async_engine(self, url: str, **options: Any) -> AsyncEngine:
        """The same for asyncpg and aiosqlite."""
        engine = create_async_engine(url, connect_args=watched_connection(make_url(url), self.note), **options)
        keep_foreign_keys(engine.sync_engine)
        return engine


def keep_foreign_keys(engine: Engine) -> None:
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _keep_foreign_keys)


def _keep_foreign_keys(connection: Any, _record: object) -> None:
    while hasattr(connection, "driver_connection"):  # of aiosqlite, in a thread of its own
        connection = connection.driver_connection
    connection = getattr(connection, "_conn", connection)
    sqlite3.Connection.execute(connection, "PRAGMA foreign_keys = on").close()


def watched_connection(url: URL, note: Note) -> dict[str, Any]:
    """What to connect with, so that note sees each statement with its parameters, or a list of them."""
    match url.get_driver_name():
        case "pysqlite":
            return {"factory": sqlite_connection(note)}
        case "aiosqlite":
            return {"factory": sqlite_connection(note)}
        case "psycopg":
            return {"cursor_factory": psycopg_cursor(note)}
        case "asyncpg":
            return {"connection_class": asyncpg_connection(note)}
        case "pymysql":
            return {"cursorclass": pymysql_cursor(note)}
    raise AssertionError(url.get_driver_name())


def sqlite_connection(note: Note) -> type[sqlite3.Connection]:
    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, parameters: Any = ()) -> Any:
            note(sql, parameters)
            return super().execute(sql, parameters)

        def executemany(self, sql: str, parameters: Any) -> Any:
            return super().executemany(sql, note(sql, list(parameters)))

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

    return Connection


def psycopg_cursor(note: Note) -> type[psycopg.Cursor[Any]]:
    class Cursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **kw: Any) -> Any:
            note(str(query), params)
            return super().execute(query, params, **kw)

        def executemany(self, query: Any, params_seq: Any, **kw: Any) -> None:
            super().executemany(query, note(str(query), list(params_seq)), **kw)

    return Cursor


def pymysql_cursor(note: Note) -> type[pymysql.cursors.Cursor]:
    class Cursor(pymysql.cursors.Cursor):
        def execute(self, query: Any, args: Any = None) -> int:
            if query != "SET NAMES utf8mb4":  # of every new connection
                note(str(query), args)
            return super().execute(query, args)

        def executemany(self, query: Any, args: Any) -> Any:
            return super().executemany(query, note(str(query), list(args)))

    return Cursor


def asyncpg_connection(note: Note) -> type[asyncpg.Connection]:
    class Statement(asyncpg.prepared_stmt.PreparedStatement):
        __slots__ = ()

        async def fetch(self, *args: Any, **kw: Any) -> Any:
            note(self.get_query(), args)
            return await super().fetch(*args, **kw)

        def cursor(self, *args: Any, **kw: Any) -> Any:
            note(self.get_query(), args)
            return super().cursor(*args, **kw)

    class Connection(asyncpg.Connection):
        async def prepare(self, query: str, **kw: Any) -> Any:
            statement = await super().prepare(query, **kw)
            statement.__class__ = Statement
            return statement

        async def executemany(self, command: str, args: Any, **kw: Any) -> Any:
            return await super().executemany(command, note(command, list(args)), **kw)

        async def execute(self, query: str, *args: Any, **kw: Any) -> str:
            note(query, args)
            return str(await super().execute(query, *args, **kw))

    return Connection


def _flat(parameters: Any) -> Iterable[Any]:
    if isinstance(parameters, dict):
        parameters = parameters.values()
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Iterable):
        return [parameters]
    return [part for each in parameters for part in _flat(each)]


def _is_plain(value: Any) -> bool:
    if isinstance(value, bytes | memoryview):
        return MARK.encode() in bytes(value)
    return value in MARKED_NUMBERS if isinstance(value, int | float) else MARK in str(value)
