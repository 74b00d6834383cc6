"""Unrelated statement: a SELECT on a table with no sealed column. As a program, in a process without the vault's hooks.

The program runs its statements for each line that it reads, and answers with the seconds that it has worked so far.
"""

import sys
import time
from collections.abc import Callable

from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, insert, select
from sqlalchemy.pool import StaticPool

__all__ = ["STATEMENTS", "memory_engine", "unrelated"]

STATEMENTS = 400


def memory_engine() -> Engine:
    return create_engine("sqlite://", poolclass=StaticPool)


def unrelated(engine: Engine) -> Callable[[], None]:
    """Runs a SELECT, built anew each time."""
    table = Table("town", MetaData(), Column("id", Integer, primary_key=True), Column("name", String))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": number, "name": str(number)} for number in range(100)])

    def call() -> None:
        with engine.connect() as connection:
            for number in range(STATEMENTS):
                connection.execute(select(table.c.name).where(table.c.id == number % 100)).all()

    return call


if __name__ == "__main__":
    run = unrelated(memory_engine())
    for _ in sys.stdin:
        run()
        print(time.process_time(), flush=True)
