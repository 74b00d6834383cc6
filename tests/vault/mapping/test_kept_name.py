"""Names of term columns, of which some database would keep only a part."""

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine, insert, inspect, select

from vault import BlindIndex, CompoundIndex, Sealed, attach
from vault.errors import DefinitionError
from vault.opened import OpenedVault

pytestmark = pytest.mark.databases_in_turn


def table_with(column: str, index: str = "bidx") -> Table:
    return Table(
        "named",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column(column, Sealed(Text, index=BlindIndex(name=index))),
    )


@pytest.mark.parametrize("column", ["c" * 56, "\u00df" * 28])
def test_k07_own_1_a_name_that_is_kept_whole_is_stored_and_found(
    database_url: str, opened: OpenedVault, column: str
) -> None:
    """The longest names, in characters of one byte and of two."""
    engine = create_engine(database_url)
    attach(engine, opened)
    table = table_with(column)
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": 1, column: "plain§"}])
        assert connection.scalars(select(table.c.id).where(table.c[column] == "plain§")).all() == [1]
        found = {one["name"] for one in inspect(connection).get_columns("named")}
    assert found == {"id", column, f"{column}_bidx_a", f"{column}_bidx_b"}
    engine.dispose()


@pytest.mark.parametrize("column", ["c" * 57, "\u00df" * 29])
def test_k07_own_1_a_name_that_a_database_would_cut_is_refused(column: str) -> None:
    """PostgreSQL would cut the names of slots a and b to one."""
    with pytest.raises(DefinitionError, match=rf"named\.{column} needs a term column {column}_bidx_a.*63 bytes"):
        table_with(column)
    assert table_with(column, index="n") is not None, "as the message says: a shorter name of the index"


def over_two(name: str) -> Table:
    columns: list[Column[str]] = [Column(column, Sealed(Text)) for column in "xy"]
    return Table("named", MetaData(), *columns, CompoundIndex(name, "x", "y"))


def test_k07_own_1_the_name_of_an_index_over_several_columns_counts_as_well() -> None:
    assert f"{'n' * 61}_b" in over_two("n" * 61).c
    with pytest.raises(DefinitionError, match="63 bytes"):
        over_two("n" * 62)
