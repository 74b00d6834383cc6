"""The statements of find(): held, without values, and whatever they read comes in key order."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table, Text, TypeDecorator, Uuid

from tests.vault.mapping.ward import Patient
from vault import BlindIndex, Sealed
from vault.mapping.asked import Asked
from vault.mapping.lookup import lookups, via
from vault.mapping.walk import Walk, walk_of

T: Any = Patient.__table__
KEYS = list(T.primary_key)


def walk(by: dict[Any, Any], target: Any = Patient, table: Any = T, *, whole: bool = True) -> Walk:
    return walk_of(target, [table], list(table.primary_key), lookups([table], by), whole=whole)


def test_it_is_built_once_for_each_way_to_ask_and_holds_no_value() -> None:
    held = walk({"code": "plain§1"})
    assert walk({Patient.code: "plain§2"}) is held
    others = [
        walk({"code": "plain§"}, T),
        walk({"code": "plain§"}, whole=False),
        walk({"email": "plain§"}),
        walk({"email": via("at", "plain§")}),
        walk({"code": "plain§", "email": "plain§"}),
        walk({"rough": {"name": "plain§", "born": "1980"}}),
    ]
    assert len({id(one) for one in (held, *others)}) == 7
    for one in (held.unordered, held.first, held.following):
        assert not [value for value in one.compile().params.values() if value is not None]


def test_a_table_that_gets_another_column_is_read_with_it() -> None:
    table = Table(
        "t", MetaData(), Column("id", Integer, primary_key=True), Column("s", Sealed(Text, index=BlindIndex()))
    )
    assert walk({"s": "plain§"}, table, table).names == ("id", "s")
    table.append_column(Column("more", Text))
    assert walk({"s": "plain§"}, table, table).names == ("id", "s", "more")


class Turned(TypeDecorator[int]):
    """An order of its own."""

    impl = Integer
    cache_ok = True


@pytest.mark.parametrize(
    ("kinds", "sortable"),
    [
        ([Integer()], True),
        ([BigInteger(), Uuid()], True),
        ([LargeBinary()], True),
        ([String(40)], False),
        ([Integer(), Text()], False),
        ([Uuid(as_uuid=False)], False),
        ([Turned()], False),
    ],
)
def test_only_keys_that_python_orders_as_postgresql_does_are_sorted_here(kinds: list[Any], sortable: bool) -> None:
    keys = [Column(f"k{n}", kind, primary_key=True) for n, kind in enumerate(kinds)]
    table = Table("t", MetaData(), *keys, Column("s", Sealed(Text, index=BlindIndex())))
    assert walk({"s": "plain§"}, table, table).sortable is sortable


@given(st.lists(st.integers(), unique=True, max_size=60), st.integers(1, 25), st.booleans())
def test_pages_hold_every_row_once_in_key_order(keys: list[int], rows: int, postgresql: bool) -> None:
    held = walk({"code": "plain§"}, whole=False)
    asked, read_in_full = Asked("plain§"), 0

    def read(statement: Any, parameters: dict[str, Any]) -> Sequence[Any]:
        """The database: keys are its rows, in no order."""
        nonlocal read_in_full
        assert parameters["sealed__asked_0"] is asked
        limit = parameters["sealed__rows"]
        if statement is held.unordered:
            assert postgresql
            read_in_full = limit
            return [(key, "value") for key in keys[:limit]]
        after = [key for key in keys if statement is held.first or key > parameters["sealed__after_0"]]
        assert limit == rows
        return [(key, "value") for key in sorted(after)[:limit]]

    pages = list(held.pages(read, [asked], rows, postgresql=postgresql))
    assert [row[0] for page in pages for row in page] == sorted(keys)
    assert all(len(page) <= max(rows, 8) for page in pages)
    assert read_in_full == (max(rows, 8) + 1 if postgresql else 0)
