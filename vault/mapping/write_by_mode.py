"""Writing by mode: which columns of a row get a field's value, and as what.

The column that the mode does not write is left out of an INSERT, and set NULL by an UPDATE, so that it never keeps an
older value than the other.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from sqlalchemy.engine import Dialect

from vault.errors import InvalidValueError
from vault.mapping.compiled_modes import mode_in_force
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.table_plan import TablePlan

__all__ = ["columns_by_mode", "refuse_left_out"]

Columns = dict[str, list[Any]]


def columns_by_mode(
    dialect: Dialect, sealed: SealedColumn, values: list[Any], seal: Callable[[], Columns], *, inserting: bool
) -> Columns:
    """By column key what is stored of all values in order. seal: gives the sealed column and its terms.

    Raises: InvalidValueError for NULL where the field forbids it; KmsError; as seal.
    """
    if sealed.plaintext is None:
        return seal()
    _refuse_null(sealed, values)
    mode = mode_in_force(dialect, sealed)
    columns: Columns = {}
    if mode.writes_sealed:
        columns |= seal()
    elif not inserting:
        columns |= {column.key: [None] * len(values) for column in (sealed.column, *sealed.term_columns)}
    if mode.writes_plaintext:
        columns[sealed.plaintext.key] = values
    elif not inserting:
        columns[sealed.plaintext.key] = [None] * len(values)
    return columns


def refuse_left_out(plan: TablePlan, given: AbstractSet[str]) -> None:
    """given: the column keys of an INSERT's row. Raises: InvalidValueError where a required value is not."""
    for name, sealed in plan.sealed.items():
        if name not in given:
            _refuse_null(sealed, [None])


def _refuse_null(sealed: SealedColumn, values: list[Any]) -> None:
    """While a field is migrating, neither of its columns can be NOT NULL in the database. Raises: InvalidValueError."""
    if sealed.type.required and None in values:
        raise InvalidValueError(
            "may not be NULL", sealed.definition.table, sealed.definition.column, row=values.index(None)
        )
