"""Clearances that were made earlier: the rows go into the past, the clocks are real."""

from datetime import datetime, timedelta

from sqlalchemy import Engine, inspect, select, update

from kms.key_database import writing
from kms.key_rows import time_text
from vault.retirement.clearance_tables import clearance_table


def age_clearances(engine: Engine, time: timedelta) -> None:
    """As if every scan had been that much earlier."""
    if not inspect(engine).has_table(clearance_table.name):
        return
    table = clearance_table
    with writing(engine) as connection:
        for row in connection.execute(select(table)).mappings().all():
            moments = {name: row[name] for name in ("scanned_at", "cleared_at") if row[name] is not None}
            earlier = {name: time_text(datetime.fromisoformat(text) - time) for name, text in moments.items()}
            this = (table.c.key_id == row["key_id"]) & (table.c.identity == row["identity"])
            connection.execute(update(table).where(this).values(earlier))
