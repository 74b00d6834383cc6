"""Mapped classes and a policy say the same in their own words."""

import uuid
from enum import Enum
from typing import Any

import pytest
from sqlalchemy import JSON, Column, DateTime, Integer, MetaData, String, Table, Text, Uuid, func
from sqlalchemy import Enum as SqlEnum

from tests.vault.projects import write_policy
from vault.errors import PolicyError
from vault.mapped_tables import table_policies
from vault.mapping import AnyInteger, Sealed, definition_of, sealed_columns
from vault.normalise import digits
from vault.normalisers.own import register_normaliser
from vault.normalisers.parts import last_four
from vault.policy import ColumnPolicy, Policy
from vault.schema import tables
from vault.terms.term import BlindIndex

ending = register_normaliser("tests.ending", 1, lambda text: str(text)[-2:], partial=True)


class Color(Enum):
    RED = 1


def described(*columns: "Column[Any]") -> dict[str, ColumnPolicy]:
    metadata = MetaData()
    Table("t", metadata, Column("id", Uuid, primary_key=True, default=uuid.uuid4), *columns)
    return table_policies(metadata)["t"].column


def test_the_tables_of_a_policy_are_described_as_the_policy_does(tmp_path: Any) -> None:
    policy = Policy.load(write_policy(tmp_path))
    (table,) = table_policies(tables(policy)).values()
    declared = policy.table["visit"]
    assert (table.key, table.sealed, list(table.column)) == (declared.key, declared.sealed, list(declared.column))
    for name, column in table.column.items():
        apart = {"nullable": None, "index": None}
        assert column.model_copy(update=apart) == declared.column[name].model_copy(update=apart), name
        of_models, of_policy = (
            [(index.name, index.normalise, index.bits, index.partial) for index in one.indexes]
            for one in (column, declared.column[name])
        )
        assert of_models == of_policy
        assert table.nullable(name) == declared.nullable(name)


def test_columns_have_the_words_of_a_policy() -> None:
    columns = described(
        Column("born", Sealed(DateTime(timezone=True))),
        Column("big", Sealed(AnyInteger)),
        Column("padded", Sealed(Text, pad=64)),
        Column("name", String(40), nullable=False),
    )
    kinds = {name: column.type for name, column in columns.items()}
    assert kinds == {"id": "uuid", "born": "datetime", "big": "int", "padded": "str", "name": "str"}
    assert not columns["name"].nullable


def test_terms_and_types_that_no_text_can_give_are_left_out() -> None:
    columns = described(
        Column("ssn", Sealed(Text, index=BlindIndex(digits))),
        Column("chart", Sealed(JSON)),
        Column("plain", JSON),
        Column("color", SqlEnum(Color)),
    )
    assert set(columns) == {"id", "ssn"}
    assert [index.name for index in columns["ssn"].indexes] == ["bidx"]


def test_every_index_is_described_by_how_it_is_asked() -> None:
    by_part = [BlindIndex(last_four, name="last4"), BlindIndex(ending, name="ending"), BlindIndex(bits=8, name="rough")]
    columns = described(Column("ssn", Sealed(Text, index=by_part)), Column("chart", Sealed(Text)))
    assert [(one.name, one.partial, one.answers_equality) for one in columns["ssn"].indexes] == [
        ("last4", True, False),
        ("ending", True, False),
        ("rough", False, False),
    ]
    assert columns["chart"].indexes == ()


def test_columns_with_defaults_need_no_value() -> None:
    metadata = MetaData()
    by_database = Column("at", DateTime, server_default=func.now())
    Table("t", metadata, Column("id", Integer, primary_key=True), Column("n", Integer, default=7), by_database)
    Table("u", metadata, Column("id", Integer, primary_key=True, autoincrement=False), Column("n", Integer))
    t, u = table_policies(metadata).values()
    assert [name for name in t.column if t.is_made(name)] == ["id", "n", "at"]
    assert [name for name in u.column if u.is_made(name)] == []


def test_a_column_with_two_names_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"t\.name has another key= than its name"):
        described(Column("name", String, key="called"))


def test_a_uuid_of_a_policy_and_of_a_mapped_class_are_one_definition() -> None:
    text = """
[vault]
database = "sqlite:///a.db"
kek = "local:kek"
[table.t]
key = ["id"]
[table.t.column]
id = { type = "uuid" }
n = { type = "int", sealed = true, bind = ["id"] }
"""
    from pathlib import Path

    metadata = MetaData()
    Table("t", metadata, Column("id", Uuid, primary_key=True), Column("n", Sealed(Integer, bind="id")))
    of_policy = tables(Policy.read(text, Path("/srv")))
    (one,), (other,) = (sealed_columns(of.tables["t"]) for of in (metadata, of_policy))
    assert definition_of(one) == definition_of(other)
