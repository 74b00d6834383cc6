"""Declarations that cannot work are refused when the table is made."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    CHAR,
    Boolean,
    Column,
    Computed,
    DateTime,
    Enum,
    ForeignKey,
    Identity,
    Integer,
    Interval,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import CITEXT
from sqlalchemy.types import TypeDecorator

from vault.errors import DefinitionError
from vault.mapping import Coded, Sealed
from vault.normalise import digits
from vault.normalisers.parts import last_four, year
from vault.terms.term import BlindIndex


def _table(*columns: Any, name: str = "t", **options: Any) -> Table:
    return Table(name, MetaData(), *columns, **options)


class Custom(TypeDecorator[str]):
    impl = String
    cache_ok = True


def _bound_by_key(**actions: str) -> Table:
    return _table(Column("k", Integer, ForeignKey("o.x", **actions)), Column("x", Sealed(Text, bind="k")))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "primary key": (lambda: _table(Column("x", Sealed(Text), primary_key=True)), "primary or foreign key"),
    "foreign key": (lambda: _table(Column("x", Sealed(Text), ForeignKey("o.x"))), "primary or foreign key"),
    "onupdate": (lambda: _table(Column("x", Sealed(Text), onupdate="v")), "onupdate="),
    "server default": (lambda: _table(Column("x", Sealed(Text), server_default="v")), "server_default="),
    "computed": (lambda: _table(Column("x", Sealed(Text), Computed("1"))), "Computed"),
    "sql default": (lambda: _table(Column("x", Sealed(Text), default=func.now())), "made by the server"),
    "unique column": (lambda: _table(Column("x", Sealed(Text), unique=True)), "unique=True"),
    "index column": (lambda: _table(Column("x", Sealed(Text), index=True)), r"index=BlindIndex\(\)"),
    "unique without index": (lambda: _table(Column("x", Sealed(Text, unique=True))), "not truncated"),
    "unique on a truncated index": (
        lambda: _table(Column("x", Sealed(Text, index=BlindIndex(bits=8), unique=True))),
        "not truncated",
    ),
    "unique on a partial index": (
        lambda: _table(Column("x", Sealed(Text, index=BlindIndex(last_four), unique=True))),
        "not truncated or partial",
    ),
    "an index of two values": (
        lambda: _table(Column("x", Sealed(Boolean, index=BlindIndex()))),
        r"t\.x has 2 values at most.*low_entropy=True",
    ),
    "one index of two values insisted on, and another not": (
        lambda: _table(Column("x", Sealed(Boolean, index=[BlindIndex(low_entropy=True), BlindIndex(name="b")]))),
        "2 values at most",
    ),
    "an index of a few labels": (
        lambda: _table(Column("x", Sealed(Enum(*map(str, range(16))), index=BlindIndex(bits=2)))),
        "16 values at most",
    ),
    "an index of truth by its codec": (
        lambda: _table(Column("x", Sealed(Coded("bool/1"), index=BlindIndex()))),
        "2 values at most",
    ),
    "year of a text": (
        lambda: _table(Column("x", Sealed(Text, index=BlindIndex(year)))),
        "is for date/1 or datetime/1",
    ),
    "scope with a dot": (lambda: _table(Column("x", Sealed(Text, index=BlindIndex(scope="a.b")))), "without dots"),
    "dot in a table": (lambda: _table(Column("x", Sealed(Text)), name="a.b"), "context name"),
    "dot in a schema": (lambda: _table(Column("x", Sealed(Text)), schema="a.b"), "context name"),
    "dot in a column": (lambda: _table(Column("a.b", Sealed(Text))), "without dots"),
    "text index on numbers": (lambda: _table(Column("x", Sealed(Integer, index=BlindIndex(digits)))), "is for text"),
    "two indexes of one name": (
        lambda: _table(Column("x", Sealed(Text, index=[BlindIndex(), BlindIndex(bits=8)]))),
        "one name",
    ),
    "name of a term column": (
        lambda: _table(Column("x_bidx_a", Text), Column("x", Sealed(Text, index=BlindIndex()))),
        "x_bidx_a",
    ),
    "bound to nothing": (lambda: _table(Column("x", Sealed(Text, bind="k"))), "no column of t"),
    "bound to autoincrement": (
        lambda: _table(Column("k", Integer, primary_key=True), Column("x", Sealed(Text, bind="k"))),
        "autoincrement=False",
    ),
    "bound to identity": (
        lambda: _table(Column("k", Integer, Identity()), Column("x", Sealed(Text, bind="k"))),
        "server assigns",
    ),
    "bound to a server default": (
        lambda: _table(Column("k", Integer, server_default=text("1")), Column("x", Sealed(Text, bind="k"))),
        "server assigns",
    ),
    "bound to an sql default": (
        lambda: _table(Column("k", Integer, default=func.now()), Column("x", Sealed(Text, bind="k"))),
        "before the INSERT",
    ),
    "bound to onupdate": (
        lambda: _table(Column("k", Integer, onupdate=1), Column("x", Sealed(Text, bind="k"))),
        "onupdate=",
    ),
    "bound to a key that follows": (lambda: _bound_by_key(onupdate="cascade"), "foreign key changes"),
    "bound to a key that is set to null": (lambda: _bound_by_key(ondelete="SET NULL"), "foreign key changes"),
    "bound to a date": (
        lambda: _table(Column("k", DateTime), Column("x", Sealed(Text, bind="k"))),
        "int, UUID, bytes or string",
    ),
    "bound to a boolean": (
        lambda: _table(Column("k", Boolean), Column("x", Sealed(Text, bind="k"))),
        "int, UUID, bytes or string",
    ),
    "bound to padded text": (
        lambda: _table(Column("k", CHAR(9)), Column("x", Sealed(Text, bind="k"))),
        "int, UUID, bytes or string",
    ),
    "bound to text of a collation": (
        lambda: _table(Column("k", String(9, collation="NOCASE")), Column("x", Sealed(Text, bind="k"))),
        "without a collation",
    ),
    "bound to text of either case": (
        lambda: _table(Column("k", CITEXT), Column("x", Sealed(Text, bind="k"))),
        "without a collation",
    ),
    "bound to an own type": (
        lambda: _table(Column("k", Custom), Column("x", Sealed(Text, bind="k"))),
        "int, UUID, bytes or string",
    ),
    "bound to textual uuid": (
        lambda: _table(Column("k", Uuid(as_uuid=False)), Column("x", Sealed(Text, bind="k"))),
        "as_uuid=True",
    ),
    "bound to a sealed column": (
        lambda: _table(Column("k", Sealed(Text)), Column("x", Sealed(Text, bind="k"))),
        "int, UUID, bytes or string",
    ),
    "interval": (lambda: Sealed(Interval), "cannot be sealed"),
    "sealed twice": (lambda: Sealed(Sealed(Text)), "cannot be sealed"),
    "generation": (lambda: _table(Column("x", Sealed(Text, generation=256))), "0 to 255"),
}


@pytest.mark.parametrize("way", WRONG)
def test_a_declaration_that_cannot_work_is_refused_at_once(way: str) -> None:
    declare, words = WRONG[way]
    with pytest.raises(DefinitionError, match=words):
        declare()


def test_a_key_that_python_makes_can_bind() -> None:
    for key in (
        Column("k", Integer, primary_key=True, autoincrement=False),
        Column("k", Uuid, primary_key=True),
        Column("k", Integer, primary_key=True, default=lambda: 7),
        Column("k", String(9)),
    ):
        assert _table(key, Column("x", Sealed(Text, bind="k"))).c.x.type.owner.bound == (key,)


def test_a_field_is_bound_to_a_foreign_key_that_stays_as_it_is() -> None:
    table = _bound_by_key(onupdate="RESTRICT", ondelete="CASCADE")
    assert [column.name for column in table.c.x.type.owner.bound] == ["k"]


def test_an_index_of_many_labels_needs_no_insisting_and_one_of_few_may_be_insisted_on() -> None:
    _table(Column("x", Sealed(Enum(*map(str, range(17))), index=BlindIndex())))
    _table(Column("x", Sealed(Boolean, index=BlindIndex(low_entropy=True))))
    insisted, not_so = BlindIndex(low_entropy=True), BlindIndex()
    assert insisted == not_so, "insisting decides no stored bytes, so that it is no drift"
