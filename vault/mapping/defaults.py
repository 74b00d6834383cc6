"""Defaults: the Python default of a column, called before its value is sealed or bound."""

from typing import Any

from sqlalchemy import Column

from vault.errors import SealedColumnError

__all__ = ["default_value"]


def default_value(column: "Column[Any]") -> Any:
    """What default= gives. Raises: SealedColumnError for a function that needs SQLAlchemy's context."""
    default: Any = column.default
    if default.is_scalar:
        return default.arg
    try:
        return default.arg(None)
    except AttributeError:
        pass
    raise SealedColumnError(
        f"the default of {column.table.name}.{column.name} needs the statement's context, which is not there yet when"
        " values are sealed: use a function without arguments, or give the value"
    )
