"""Stored text: a column that a job reads as the text that the database makes of it, exactly.

For types that a driver reads with a loss: PostgreSQL's json keeps blanks and the digits of 1.00, of which Python keeps
nothing, and an interval of a month becomes thirty days. Their text can be compared byte for byte.
"""

from typing import Any

from sqlalchemy import ColumnElement, Text, cast, type_coerce
from sqlalchemy.types import NULLTYPE, UserDefinedType

__all__ = ["StoredText"]


class StoredText(UserDefinedType[str]):
    """The type of such a column in the table of a job; its values are str in both directions."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "TEXT"

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        return cast(type_coerce(colexpr, NULLTYPE), Text)
