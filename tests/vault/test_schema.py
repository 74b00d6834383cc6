from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, inspect, select

from tests.vault.policy.example import EXAMPLE, example_policy
from vault.errors import SealedColumnError
from vault.mapping.definitions import definition_of, sealed_columns
from vault.policy import Policy
from vault.schema import tables

TABLE = tables(example_policy()).tables["person_year"]


def test_columns_stand_in_the_policys_order_with_a_key_that_the_database_does_not_make_up() -> None:
    declared = list(example_policy().table["person_year"].column)
    assert [column.name for column in TABLE.columns if column.name in declared] == declared
    assert [column.name for column in TABLE.primary_key] == ["person", "year"]
    assert TABLE.autoincrement_column is None


def test_only_key_columns_and_those_that_say_so_are_not_null() -> None:
    text = EXAMPLE.replace('site = { type = "int" }', 'site = { type = "int", nullable = false }')
    table = tables(Policy.read(text, Path("/srv"))).tables["person_year"]
    names = example_policy().table["person_year"].column
    assert [name for name in names if not table.c[name].nullable] == ["person", "year", "site"]


def test_sealed_columns_carry_codec_binding_and_index() -> None:
    definitions = {column.name: definition_of(column) for column in sealed_columns(TABLE)}
    assert {name: one.codec for name, one in definitions.items()} == {
        "email": "str/1",
        "visits": "int64/1",
        "spending": "float64/1",
    }
    assert [(b.name, b.codec_id) for b in definitions["email"].bound] == [("person", "int64/1"), ("year", "int64/1")]
    assert [index.normaliser.id for index in definitions["email"].indexes] == ["casefold/1"]
    assert definitions["spending"].indexes == ()


@pytest.mark.parametrize("normaliser", ["exact", "trimmed", "digits", "casefold"])
def test_every_normaliser_that_a_policy_can_name_exists(normaliser: str) -> None:
    policy = Policy.read(EXAMPLE.replace('"casefold"', f'"{normaliser}"'), Path("/srv"))
    assert definition_of(tables(policy).tables["person_year"].c.email).indexes[0].normaliser.id == f"{normaliser}/1"


@pytest.mark.parametrize(
    ("kind", "codec"),
    [
        ("bool", "bool/1"),
        ("decimal", "decimal/1"),
        ("date", "date/1"),
        ("datetime", "datetime/1"),
        ("uuid", "uuid/1"),
    ],
)
def test_every_type_that_a_policy_can_name_has_its_codec(kind: str, codec: str) -> None:
    text = EXAMPLE.replace('photo = { type = "bytes" }', f'photo = {{ type = "{kind}", sealed = true }}')
    table = tables(Policy.read(text, Path("/srv"))).tables["person_year"]
    assert definition_of(table.c.photo).codec == codec


def test_each_call_gives_tables_of_its_own() -> None:
    policy = example_policy()
    assert tables(policy) is not tables(policy)


def test_the_tables_can_be_made_and_refuse_a_value_while_no_keys_are_attached(database_url: str) -> None:
    engine = create_engine(database_url, hide_parameters=True)
    try:
        TABLE.metadata.create_all(engine)
        there = {column["name"] for column in inspect(engine).get_columns("person_year")}
        assert there == {column.name for column in TABLE.columns}
        with engine.begin() as connection, pytest.raises(SealedColumnError):
            connection.execute(insert(TABLE).values(person=1, year=1, email="sesame-31"))
        with engine.begin() as connection:
            assert connection.execute(select(TABLE.c.person)).all() == []
    finally:
        engine.dispose()


def test_every_type_can_be_a_key_and_keys_are_compared_exactly(database_url: str) -> None:
    policy = Policy.read(KEYED, Path("/srv"))
    table = tables(policy).tables["thing"]
    engine = create_engine(database_url, hide_parameters=True)
    table.metadata.create_all(engine)
    rows = [
        {"code": code, "tag": tag, "number": 1, "long": "x" * 70_000, "blob": b"y" * 70_000}
        for code, tag in (("a", b"\0"), ("A", b"\0"), ("a ", b"\0"), ("ä", b"\0"), ("a", b"\0\0"), ("a", b""))
    ]
    with engine.begin() as connection:
        connection.execute(insert(table), rows)
        for row in rows:
            where = (table.c.code == row["code"], table.c.tag == row["tag"])
            found = connection.execute(select(table).where(*where)).mappings().one()
            assert {name: bytes(v) if isinstance(v, memoryview) else v for name, v in found.items()} == row
    engine.dispose()


KEYED = """
[vault]
database = "sqlite:///x.db"
kek = "local:kek"

[table.thing]
key = ["code", "tag", "number"]
[table.thing.column]
code = { type = "str" }
tag = { type = "bytes" }
number = { type = "int" }
long = { type = "str" }
blob = { type = "bytes" }
"""
