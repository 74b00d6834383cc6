"""A spy between SQLAlchemy and the driver: what is really sent. Sealed plain values in the tests carry its mark."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, event

MARK = "plain§"
"""Every text that a test seals contains it, and nothing else does."""
MARKED_NUMBERS = (9173, 9174, 73911.25, 73912.5)
"""The numbers that tests seal."""


class DriverSpy:
    """Keeps the statements and parameters that reached a driver's cursor."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def saw_plaintext(self) -> list[tuple[str, Any]]:
        return [
            (sql, parameters) for sql, parameters in self.sent if MARK in sql or any(map(_is_plain, _flat(parameters)))
        ]

    def engine(self, url: str, **options: Any) -> Engine:
        """An engine whose driver is watched."""
        spy = self

        class SqliteCursor(sqlite3.Cursor):
            def execute(self, sql: str, parameters: Any = ()) -> Any:
                spy.sent.append((sql, parameters))
                return super().execute(sql, parameters)

            def executemany(self, sql: str, parameters: Any) -> Any:
                spy.sent.append((sql, list(parameters)))
                return super().executemany(sql, spy.sent[-1][1])

        class SqliteConnection(sqlite3.Connection):
            def cursor(self, factory: Any = SqliteCursor) -> Any:
                return super().cursor(factory)

        class PsycopgCursor(psycopg.Cursor[Any]):
            def execute(self, query: Any, params: Any = None, **kw: Any) -> Any:
                spy.sent.append((str(query), params))
                return super().execute(query, params, **kw)

            def executemany(self, query: Any, params_seq: Any, **kw: Any) -> None:
                spy.sent.append((str(query), list(params_seq)))
                super().executemany(query, spy.sent[-1][1], **kw)

        watched: dict[str, Any] = {"factory": SqliteConnection}
        if not url.startswith("sqlite"):
            watched = {"cursor_factory": PsycopgCursor}
        engine = create_engine(url, connect_args=watched, **options)
        if url.startswith("sqlite"):
            event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = on"))
        return engine


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
