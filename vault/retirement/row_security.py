"""Row security: on PostgreSQL a role may be shown a part of a table, by which nothing is proved of the rest."""

from sqlalchemy import Engine, Table, text

from vault.errors import KeyInUseError
from vault.triggers.exact_sql import exact_place

__all__ = ["require_all_rows"]


def require_all_rows(engine: Engine, table: Table) -> None:
    """Raises: KeyInUseError where a row-level security policy is in force for this role."""
    if engine.dialect.name != "postgresql":
        return
    with engine.connect() as connection:
        place = {"place": exact_place(engine, table.schema, table.name)}
        hidden = connection.execute(text("SELECT row_security_active(CAST(:place AS text))"), place).scalar_one()
    if hidden:
        raise KeyInUseError(
            f"row-level security shows this role a part of {table.name}: let a role count that sees every row, such as"
            " the table's owner or one with BYPASSRLS"
        )
