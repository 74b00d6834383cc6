"""Key refusal: the triggers on a column that refuse a new or changed value whose header names a listed key.

sealed value   | format, 1 | generation, 1 | key id, 4 | ...        term   | generation, 1 | key id, 4 | ...

They judge the row as it is written in the end, after every other trigger, however it comes: by a process that slept
through its lease, a copy of an old row, COPY, an upsert, logical replication. A value that stays as it was is not
judged. The list only grows, and stays when the key is destroyed.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Table
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError

from vault.mapping.definitions import all_term_columns, sealed_columns
from vault.triggers.exact_sql import exact_quoted

__all__ = ["KeyRefusal", "is_refusal", "refusals_of"]

# Counted from 1, as SQL does: where the 4 bytes of the key id begin.
OF_VALUE: Final = 3
OF_TERM: Final = 2
REFUSED: Final = "by a retired key"
SAID: Final = f"noisevault: {{}} of {{}} {REFUSED}: read it again, and write it by a process that knows the active key"


@dataclass(frozen=True, slots=True)
class KeyRefusal:
    """Of one column, by the names that the database has. at: where the key id begins in what it holds."""

    schema: str | None
    table: str
    column: str
    at: int

    @property
    def names(self) -> tuple[str, str]:
        """Of its two triggers, on INSERT and on UPDATE, the same each time; no name is too long for a database."""
        place = ".".join([self.schema or "", self.table, self.column])
        name = f"noisevault_refused_{hashlib.sha256(place.encode()).hexdigest()[:12]}"
        return f"{name}_i", f"{name}_u"

    def make(self, dialect: Dialect, keys: Iterable[bytes], on: str) -> list[str]:
        """The statements that make or replace it. on: the quoted table, which is this or one that inherits from it."""
        return _MAKE[dialect.name](self, dialect, sorted(keys), on)

    def undo(self, dialect: Dialect) -> list[str]:
        """The statements that take it away, before the column is dropped; they do nothing where it is not there."""
        if dialect.name == "postgresql":  # with the triggers of all partitions
            return [f"DROP FUNCTION IF EXISTS {self.placed(dialect, self.names[0])}() CASCADE"]
        return [f"DROP TRIGGER IF EXISTS {self.placed(dialect, name)}" for name in self.names]

    def placed(self, dialect: Dialect, name: str) -> str:
        """The quoted name of what lies in the table's schema."""
        quoted = exact_quoted(dialect, name)
        return quoted if self.schema is None else f"{exact_quoted(dialect, self.schema)}.{quoted}"

    @property
    def said(self) -> str:
        """By the database, as the literal of a text; MariaDB's messages have 128 characters."""
        what = "a value" if self.at == OF_VALUE else "a term"
        return SAID.format(what, f"{self.table}.{self.column}"[:40]).replace("'", "''")[:127]


def refusals_of(table: Table) -> list[KeyRefusal]:
    """Of every sealed column and every term column of a mapped table."""
    placed = [(column, OF_VALUE) for column in sealed_columns(table)]
    placed += [(column, OF_TERM) for column in all_term_columns(table)]
    return [KeyRefusal(table.schema, table.name, column.name, at) for column, at in placed]


def is_refusal(error: DBAPIError) -> bool:
    """Whether it is what these triggers say."""
    return REFUSED in str(error.orig)


def _condition(refusal: KeyRefusal, dialect: Dialect, keys: list[bytes], literal: str) -> str:
    column = exact_quoted(dialect, refusal.column)
    listed = ", ".join(literal.format(key.hex()) for key in keys)
    return f"SUBSTR(NEW.{column}, {refusal.at}, 4) IN ({listed})"


def _postgres(refusal: KeyRefusal, dialect: Dialect, keys: list[bytes], on: str) -> list[str]:
    column, function = exact_quoted(dialect, refusal.column), refusal.placed(dialect, refusal.names[0])
    refused = _condition(refusal, dialect, keys, "'\\x{}'::bytea")
    changed = f"NEW.{column} IS DISTINCT FROM OLD.{column}"
    row = f"ON {on} FOR EACH ROW WHEN ({{}}) EXECUTE FUNCTION {function}()"
    insert, update = refusal.names
    # As a value, not as a format, in which a percent sign of a name would ask for one.
    raised = f"RAISE EXCEPTION USING MESSAGE = '{refusal.said}', ERRCODE = '23514'"
    refuse = f"$noisevault$ BEGIN {raised}; END $noisevault$"
    return [
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {refuse}",
        f"CREATE OR REPLACE TRIGGER {insert} AFTER INSERT {row.format(refused)}",
        f"CREATE OR REPLACE TRIGGER {update} AFTER UPDATE {row.format(f'{refused} AND {changed}')}",
        # Also for what logical replication applies, and for a session that calls itself a replica.
        f"ALTER TABLE {on} ENABLE ALWAYS TRIGGER {insert}",
        f"ALTER TABLE {on} ENABLE ALWAYS TRIGGER {update}",
    ]


def _mariadb(refusal: KeyRefusal, dialect: Dialect, keys: list[bytes], on: str) -> list[str]:
    column = exact_quoted(dialect, refusal.column)
    refused = _condition(refusal, dialect, keys, "x'{}'")
    refuse = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{refusal.said}'; END IF; END"
    insert, update = (refusal.placed(dialect, name) for name in refusal.names)
    changed = f"NOT (NEW.{column} <=> OLD.{column})"
    return [
        f"CREATE OR REPLACE TRIGGER {name} AFTER {event} ON {on} FOR EACH ROW BEGIN IF {condition} THEN {refuse}"
        for name, event, condition in ((insert, "INSERT", refused), (update, "UPDATE", f"{refused} AND {changed}"))
    ]


def _sqlite(refusal: KeyRefusal, dialect: Dialect, keys: list[bytes], on: str) -> list[str]:  # noqa: ARG001
    column, refused = exact_quoted(dialect, refusal.column), _condition(refusal, dialect, keys, "x'{}'")
    insert, update = (refusal.placed(dialect, name) for name in refusal.names)
    changed = f"NEW.{column} IS NOT OLD.{column}"
    table = exact_quoted(dialect, refusal.table)  # of the trigger's own database
    refuse = f"SELECT RAISE(ABORT, '{refusal.said}')"
    made = [
        f"CREATE TRIGGER {name} AFTER {event} ON {table} WHEN {condition} BEGIN {refuse}; END"
        for name, event, condition in ((insert, "INSERT", refused), (update, "UPDATE", f"{refused} AND {changed}"))
    ]
    return [*refusal.undo(dialect), *made]


_MAKE: Final[dict[str, Callable[[KeyRefusal, Dialect, list[bytes], str], list[str]]]] = {
    "postgresql": _postgres,
    "mysql": _mariadb,
    "mariadb": _mariadb,
    "sqlite": _sqlite,
}
