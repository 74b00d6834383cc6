"""Hidden details: while a field migrates, what a server's error message quotes of a row may be its plaintext.

PostgreSQL adds a DETAIL (Key (ssn)=(...) already exists; Failing row contains ...), MariaDB quotes the duplicate entry.
The message keeps its kind, and the table, column or key that it names.
"""

import re
from typing import Any, Final

from sqlalchemy.engine import ExceptionContext

from vault.mapping.attached import attached_to

__all__ = ["hide_details", "without_details"]

# What follows the first line of PostgreSQL's own message; what MariaDB quotes before "for key" or "for column".
_DETAIL: Final = re.compile(r"\n(DETAIL|CONTEXT|HINT|LINE \d+):.*", re.DOTALL)
_QUOTED: Final = re.compile(r"(Duplicate entry|Incorrect \w+ value:?) '.*' (for (?:key|column))", re.DOTALL)
# PostgreSQL's data exceptions (class 22) quote the input that has no value of the type.
_INPUT: Final = re.compile(r"(invalid input (?:syntax|value) for [^:]*): \".*", re.DOTALL)


def without_details(message: str) -> str:
    """The message without what it quotes of a row."""
    message = _QUOTED.sub(r"\1 '...' \2", _DETAIL.sub("", message))
    return _INPUT.sub(r"\1", message)


def hide_details(context: ExceptionContext) -> None:
    """On an engine on which a field migrates, no error quotes a value of a row."""
    attached = attached_to(context.dialect)
    if attached is None or not attached.has_migrating:
        return
    errors: list[Any] = [context.original_exception, context.sqlalchemy_exception]
    seen: set[int] = set()
    while errors:
        error = errors.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        error.args = tuple(without_details(part) if isinstance(part, str) else part for part in error.args)
        if isinstance(getattr(error, "detail", None), str):  # asyncpg's, which str() of it shows
            error.detail = None
        errors += [error.__cause__, error.__context__, getattr(error, "orig", None)]
