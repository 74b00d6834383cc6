"""Compiled: reads are sent as text that was made once, with the values of its parameters."""

from sqlalchemy import Engine, bindparam, create_engine, literal, select

from dp.ledger.store.compiled import read, schemas_of, text_of
from dp.ledger.store.schema import audit_head

HEAD = select(audit_head.c.sequence, literal("a%b").label("fixed"), bindparam("given", type_=audit_head.c.mac.type))


def test_rows_are_read_with_values_that_are_given_and_those_of_the_statement(ledger: object, engine: Engine) -> None:
    with engine.connect() as connection:
        rows = [tuple(row) for row in read(connection, HEAD, {"given": "x'y%s"})]
    assert rows == [(1, "a%b", "x'y%s")]


def test_the_text_is_made_once(ledger: object, engine: Engine) -> None:
    with engine.connect() as connection:
        first, second = (
            text_of(connection.dialect, schemas_of(connection), HEAD, tuple(names)) for names in (["given"], ["given"])
        )
    assert first is second


def test_it_is_read_from_the_schema_that_the_engine_translates_to() -> None:
    engine = create_engine("sqlite://").execution_options(schema_translate_map={None: "budgets"})
    with engine.connect() as connection:
        text = text_of(connection.dialect, schemas_of(connection), HEAD, ("given",))
    assert "FROM budgets.noisevault_audit_head" in text.sql
