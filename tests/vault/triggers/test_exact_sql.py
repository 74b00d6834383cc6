"""Names with percent signs and quotes reach each database as they are, by an engine and by a driver's cursor."""

from contextlib import closing

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, inspect

from vault.triggers.exact_sql import exact_name, exact_place, for_driver

NAMES = ("plain", "a%b", "a%%b", "a%sb", "%(n)s", "it's", 'q"x', "back`tick", "select", "a b", "UPPER")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_exact(database_url: str, name: str) -> None:
    engine = create_engine(database_url)
    Table(name, MetaData(), Column("id", Integer)).create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(for_driver(engine, f"ALTER TABLE {exact_name(engine, name)} ADD COLUMN x INTEGER"))
        driver = connection.connection.cursor()
        with closing(driver) as cursor:
            cursor.execute(f"SELECT x FROM {exact_place(engine, None, name)}")
            assert not cursor.fetchall()
    assert inspect(engine).get_table_names() == [name]


def test_a_place_has_its_schema() -> None:
    assert exact_place(create_engine("sqlite://"), "Main", "a%b") == '"Main"."a%b"'
