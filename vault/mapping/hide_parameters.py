"""Hidden parameters: a database error keeps its kind and the table it names, and loses the statement's parameters."""

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import StatementError

from vault.mapping.attached import attached_to
from vault.mapping.slotted_text import shown

__all__ = ["hide_parameters"]


def hide_parameters(context: ExceptionContext) -> None:
    """On an engine with a vault, no error shows or holds what was passed to a statement."""
    if attached_to(context.dialect) is None:
        return
    for error in (context.sqlalchemy_exception, context.original_exception):
        if isinstance(error, StatementError):
            error.hide_parameters = True
            error.params = None
            if isinstance(error.statement, str):
                error.statement = shown(error.statement)
