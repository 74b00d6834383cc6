"""The schema's version is looked at before anything is written."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, create_engine, inspect, update
from sqlalchemy.exc import OperationalError

from dp.errors import LedgerError, SchemaVersionError
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import LEDGER_VERSION, schema
from tests.dp.ledger.sealing import a_request, ledger_on

CALLS: list[Callable[[Ledger], object]] = [
    lambda ledger: ledger.declare("people", 1),
    lambda ledger: ledger.charge(a_request()),
    lambda ledger: ledger.status("people"),
    lambda ledger: ledger.verify_audit(),
]


@pytest.mark.parametrize("call", [*CALLS, lambda ledger: ledger.create_schema()])
def test_tables_of_another_version_are_left_alone(
    ledger: Ledger, engine: Engine, call: Callable[[Ledger], object]
) -> None:
    with engine.begin() as connection:
        connection.execute(update(schema).values(version=9))
    with pytest.raises(SchemaVersionError, match="of version 9"):
        call(ledger_on(engine))
    with engine.begin() as connection:
        connection.execute(update(schema).values(version=LEDGER_VERSION))
    assert ledger.verify_audit().head.sequence == 1


@pytest.mark.usefixtures("without_tables")
@pytest.mark.parametrize("call", CALLS)
def test_without_tables_the_error_says_to_create_them(engine: Engine, call: Callable[[Ledger], object]) -> None:
    with pytest.raises(SchemaVersionError, match="create the schema first"):
        call(ledger_on(engine))
    assert inspect(engine).get_table_names() == []


@pytest.mark.usefixtures("without_tables")
def test_creating_twice_is_creating_once(engine: Engine) -> None:
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", 10**9)
    ledger.create_schema()
    assert ledger.status("people").lifetime == 10**9


@pytest.mark.usefixtures("without_tables")
def test_another_components_row_stays_where_it_is(engine: Engine) -> None:
    schema.create(engine)
    with engine.begin() as connection:
        connection.execute(schema.insert().values(component="kms", version=7))
    ledger_on(engine).create_schema()
    with engine.begin() as connection:
        assert {row.component: row.version for row in connection.execute(schema.select())} == {"kms": 7, "dp": 3}


def test_a_ledger_in_memory_is_refused() -> None:
    with pytest.raises(LedgerError, match="give it a file of its own"):
        ledger_on(create_engine("sqlite://")).create_schema()


def test_a_database_that_cannot_be_written_is_not_half_made(tmp_path: object) -> None:
    engine = create_engine(f"sqlite:///file:{tmp_path}/ledger.db?mode=ro&uri=true")
    with pytest.raises((LedgerError, OperationalError)):
        ledger_on(engine).create_schema()
