"""The hooks sit on SQLAlchemy's classes, once."""

import timeit
from typing import Any

import pytest
from sqlalchemy import Engine, String, Text, cast, create_engine, event, text
from sqlalchemy.schema import CreateTableAs, CreateView
from sqlalchemy.sql import select

from tests.vault.mapping.clinic import Visit
from vault.errors import SealedColumnError
from vault.mapping import Sealed, hooks, term_columns

pytestmark = pytest.mark.databases_in_turn


def test_the_first_sealed_type_puts_the_hooks_on_every_engine() -> None:
    Sealed(Text)
    hooks.install_hooks()
    assert event.contains(Engine, "before_execute", hooks._seal)
    assert event.contains(Engine, "before_cursor_execute", hooks._look)
    engine = create_engine("sqlite://")
    assert list(engine.dispatch.before_execute).count(hooks._seal) == 1
    engine.dispose()


def test_a_statement_without_sealed_columns_costs_microseconds(quick: Engine) -> None:
    table = Visit.__table__
    statement = select(table.c.id).where(table.c.person_id == 1)
    with quick.connect() as connection:
        context = connection.execute(statement).context

        def both() -> None:
            hooks._seal(connection, statement, (), {}, {})
            hooks._look(connection, None, "", (), context, False)  # type: ignore[arg-type]

        assert min(timeit.repeat(both, number=1000, repeat=5)) / 1000 < 10e-6


def test_text_and_driver_sql_pass(quick: Engine) -> None:
    with quick.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1


@pytest.mark.parametrize("make", [CreateTableAs, CreateView])
@pytest.mark.parametrize(
    "asked",
    [
        select(Visit.id).where(cast(Visit.reason, String) == "plain§x"),
        select(Visit.id).where(Visit.reason == "plain§x"),
        select(Visit.id, Visit.reason),
        select(Visit),
        select(term_columns(Visit.reason)[0]),
    ],
    ids=["cast", "equality", "column", "entity", "term"],
)
def test_a_table_or_view_made_of_a_select_takes_no_sealed_column(clinic: Engine, make: Any, asked: Any) -> None:
    with clinic.connect() as connection, pytest.raises(SealedColumnError, match=r"is sealed|create the table"):
        connection.execute(make(asked, "made"))


def test_a_table_made_of_plain_columns_passes(clinic: Engine) -> None:
    with clinic.connect() as connection:
        connection.execute(CreateTableAs(select(Visit.id, Visit.person_id), "made"))
        assert connection.exec_driver_sql("SELECT count(*) FROM made").scalar_one() == 0
        connection.rollback()
        connection.exec_driver_sql("DROP TABLE IF EXISTS made")
        connection.commit()
