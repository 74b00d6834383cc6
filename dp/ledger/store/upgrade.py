"""Upgrade: ledger tables of an earlier version become those of this one, with all that they hold.

Version 1 allowed sums of epsilon alone; rho was kept and not looked at. So every counter stays true as it is: the
deltas of questions had the whole of a lifetime's delta, no sum of rho was allowed, and every price had an epsilon. A
lifetime that is declared again gets the limits of version 2.

Version 2 had a lifetime for each dataset and no other scope, and did not say in the row of a charge when it was made,
nor that it has no answer; the log did.
"""

import json
from typing import Any, Final

from sqlalchemy import Column, Connection, Table, inspect, or_, select, update
from sqlalchemy.schema import CreateColumn, CreateTable

from dp.ledger.store.schema import LEDGER_COMPONENT, LEDGER_VERSION, audit, budget, charge, metadata, schema

ADDED: Final[dict[int, tuple[tuple[Table, Column[Any]], ...]]] = {
    1: (
        (budget, budget.c.question_atto_delta),
        (budget, budget.c.lifetime_nano_rho),
        (budget, budget.c.spent_unbounded),
        (charge, charge.c.unbounded),
    ),
    2: (
        (budget, budget.c.source),
        (budget, budget.c.separate),
        (budget, budget.c.least_nano_epsilon),
        (budget, budget.c.most_nano_epsilon),
        (charge, charge.c.charged_at),
        (charge, charge.c.unreleased_sequence),
    ),
}


def upgrade_from(version: int, connection: Connection) -> None:
    """Bring tables of that version to this one. Begun again where it was cut off: MariaDB commits at each column."""
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
    for earlier in range(version, LEDGER_VERSION):
        for table, column in ADDED[earlier]:
            _add(connection, table, column)
        is_earlier = (schema.c.component == LEDGER_COMPONENT) & (schema.c.version == earlier)
        # Whoever comes second finds the next version, and perhaps what was declared or charged since.
        if connection.execute(update(schema).where(is_earlier).values(version=earlier + 1)).rowcount == 1:
            _FILL[earlier](connection)


def _add(connection: Connection, table: Table, column: Column[Any]) -> None:
    if column.name not in {found["name"] for found in inspect(connection).get_columns(table.name)}:
        wanted = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {wanted}")


def _fill_2(connection: Connection) -> None:
    connection.execute(update(budget).values(question_atto_delta=budget.c.lifetime_atto_delta))


def _fill_3(connection: Connection) -> None:
    told = select(audit.c.sequence, audit.c.entry).where(
        or_(*(audit.c.entry.like(f'%"kind":"{kind}"%') for kind in ("charge", "unreleased")))
    )
    for sequence, text in connection.execute(told.order_by(audit.c.sequence)).all():
        entry = json.loads(text)
        of_charge = update(charge).where(charge.c.charge_id == entry.get("charge"))
        if entry["kind"] == "charge":
            connection.execute(of_charge.values(charged_at=entry["at"]))
        elif entry["kind"] == "unreleased":
            mark = of_charge.where(charge.c.unreleased_sequence.is_(None))
            connection.execute(mark.values(unreleased_sequence=sequence))


_FILL: Final = {1: _fill_2, 2: _fill_3}
