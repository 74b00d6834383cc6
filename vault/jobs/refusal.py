"""Refusal: what a database's error may say of a row that it did not take: the kind of rule and its name, no value.

The drivers' own texts quote the row ("Key (x)=(...)", "Duplicate entry '...'"), whatever hide_parameters says. So none
of them leaves a job: not in a message, nor as the cause or the context of another error.
Source: PostgreSQL manual, appendix A; MariaDB Knowledge Base, "MariaDB Error Codes"; sqlite.org/rescode.html.
"""

import re
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from vault.errors import JobError

__all__ = ["as_job_error", "refusal"]

BY_SQLSTATE: Final = {
    "23502": "a NOT NULL constraint",
    "23503": "a foreign key",
    "23505": "a unique index",
    "23514": "a CHECK constraint",
    "23P01": "an exclusion constraint",
    "44000": "the CHECK OPTION of a view",
    "P0001": "a trigger",
}
# By class, where nothing more is known: integrity constraint violation, data exception.
BY_CLASS: Final = {"23": "a constraint", "22": "the column's type, which cannot hold the value"}
MARIADB: Final = {
    1048: "a NOT NULL constraint",
    1062: "a unique index",
    **dict.fromkeys((1216, 1217, 1451, 1452), "a foreign key"),
    4025: "a CHECK constraint",
    1644: "a trigger",
    **dict.fromkeys((1264, 1265, 1292, 1366, 1406), "the column's type, which cannot hold the value"),
}
# Where the name stands: at the very end, behind all that is quoted of the row, or where nothing is quoted.
MARIADB_NAMES: Final = {
    1062: re.compile(r" for key '([^']{1,192})'\Z"),
    1048: re.compile(r"\AColumn '([^']{1,64})' cannot be null\Z"),
    4025: re.compile(r"\ACONSTRAINT `([^`]{1,64})` failed for "),
}
SQLITE: Final = {
    "SQLITE_CONSTRAINT_UNIQUE": "a unique index",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "the primary key",
    "SQLITE_CONSTRAINT_NOTNULL": "a NOT NULL constraint",
    "SQLITE_CONSTRAINT_CHECK": "a CHECK constraint",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "a foreign key",
    "SQLITE_CONSTRAINT_DATATYPE": "the column's type, which cannot hold the value",
    "SQLITE_CONSTRAINT_TRIGGER": "a trigger",
}
SQLITE_NAMED: Final = frozenset(SQLITE) - {"SQLITE_CONSTRAINT_TRIGGER", "SQLITE_CONSTRAINT_FOREIGNKEY"}
SQLITE_NAME: Final = re.compile(r"\A[A-Z ]+ constraint failed: (.{1,200})\Z", re.DOTALL)


def refusal(error: DBAPIError) -> str | None:
    """Why the database did not take a row, for an operator; None for an error that blames no row."""
    kind = _kind(error.orig)
    if kind is None:
        return None
    name = _name(error.orig)
    return f"the database refuses the new value by {kind}{f' ({name})' if name else ''}"


def as_job_error(error: DBAPIError, table: str) -> JobError:
    """To be raised where the error is not being handled, so that it is not the context. Says its number and names."""
    number, name = _number(error.orig), _name(error.orig)
    of = f" ({name})" if name else ""
    return JobError(
        f"{table}: the database refused a statement of the job: {number}{of}; what was written so far stays"
    )


def _kind(driver_error: Any) -> str | None:
    code = _code(driver_error)
    if code is not None:
        return MARIADB.get(code)
    state = getattr(driver_error, "sqlstate", None)
    if state is not None:
        return BY_SQLSTATE.get(state) or BY_CLASS.get(state[:2])
    name = getattr(driver_error, "sqlite_errorname", None)
    if name is not None:
        return SQLITE.get(name) or ("a constraint" if name.startswith("SQLITE_CONSTRAINT") else None)
    return None


def _name(driver_error: Any) -> str | None:
    """Of the constraint, the index or the column: of the schema, not of the row."""
    diagnosed = getattr(driver_error, "diag", None)
    if diagnosed is not None:
        if (driver_error.sqlstate or "")[:2] != "23":
            return None  # a function may have put anything there
        told: str | None = diagnosed.constraint_name or diagnosed.column_name
        return told
    name = getattr(driver_error, "sqlite_errorname", None)
    if name is not None:
        return _found(SQLITE_NAME, str(driver_error)) if name in SQLITE_NAMED else None
    code = _code(driver_error)
    if code not in MARIADB_NAMES or len(driver_error.args) < 2:
        return None
    return _found(MARIADB_NAMES[code], str(driver_error.args[1]))


def _number(driver_error: Any) -> str:
    code = _code(driver_error)
    if code is not None:
        return f"error {code}"
    state = getattr(driver_error, "sqlstate", None)
    if state is not None:
        return f"SQLSTATE {state}"
    name = getattr(driver_error, "sqlite_errorname", None)
    if name is not None:
        return str(name)
    return type(driver_error).__name__


def _code(driver_error: Any) -> int | None:
    """MariaDB's, which tells more than its SQLSTATE."""
    arguments = getattr(driver_error, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _found(pattern: re.Pattern[str], message: str) -> str | None:
    found = pattern.search(message)
    return None if found is None else found[1]
