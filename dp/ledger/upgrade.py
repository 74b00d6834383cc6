"""Upgrade: ledger tables of version 1 become those of version 2, with all that they hold.

Version 1 allowed sums of epsilon alone; rho was kept and not looked at. So every counter stays true as it is: the
deltas of questions had the whole of a lifetime's delta, no sum of rho was allowed, and every price had an epsilon. A
lifetime that is declared again gets the limits of version 2.
"""

from typing import Final

from sqlalchemy import Column, Connection, Table, inspect, update
from sqlalchemy.schema import CreateColumn

from dp.ledger.schema import LEDGER_COMPONENT, budget, charge, schema

ADDED: Final[tuple[tuple[Table, Column[int]], ...]] = (
    (budget, budget.c.question_atto_delta),
    (budget, budget.c.lifetime_nano_rho),
    (budget, budget.c.spent_unbounded),
    (charge, charge.c.unbounded),
)


def upgrade_from_1(connection: Connection) -> None:
    """Add the columns, and say so in the version. Begun again where it was cut off: MariaDB commits at each column."""
    for table, column in ADDED:
        if column.name not in {found["name"] for found in inspect(connection).get_columns(table.name)}:
            wanted = CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {wanted}")
    is_1 = (schema.c.component == LEDGER_COMPONENT) & (schema.c.version == 1)
    # Whoever comes second finds version 2, and perhaps lifetimes that were declared since.
    if connection.execute(update(schema).where(is_1).values(version=2)).rowcount == 1:
        connection.execute(update(budget).values(question_atto_delta=budget.c.lifetime_atto_delta))
