"""Stored double: a FLOAT of MariaDB, read as the double that it is exactly; its own text has six digits."""

from typing import Any

from sqlalchemy import ColumnElement, literal_column, type_coerce
from sqlalchemy.types import NULLTYPE, UserDefinedType

__all__ = ["StoredDouble"]


class StoredDouble(UserDefinedType[float]):
    """The type of such a column in the table that a job compares by."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "DOUBLE"

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        return type_coerce(type_coerce(colexpr, NULLTYPE) * literal_column("1e0"), NULLTYPE)
