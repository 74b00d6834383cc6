import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, insert, select

from vault.errors import SealedColumnError
from vault.mapping import Sealed
from vault.mapping.defaults import default_value


def test_a_default_is_a_value_or_what_a_function_gives() -> None:
    table = Table("t", MetaData(), Column("a", Text, default="x"), Column("b", Text, default=lambda: "y"))
    assert [default_value(column) for column in table.c] == ["x", "y"]


def test_a_default_that_needs_the_statement_is_refused(quick: Engine) -> None:
    table = Table(
        "defaulted",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("x", Sealed(Text), default=lambda context: context.get_current_parameters()["id"]),
    )
    table.metadata.create_all(quick)
    with quick.begin() as connection, pytest.raises(SealedColumnError, match="without arguments"):
        connection.execute(insert(table).values(id=1))
    with quick.begin() as connection:
        assert connection.execute(select(table)).all() == []
