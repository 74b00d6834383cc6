"""What PostgreSQL makes of a binary array: each member as it was given."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine

from tests.sizes import sized
from vault.jobs.writing.binary_array import BinaryArray, binary_array, send_binary_arrays

BYTES = st.lists(st.binary(max_size=40), min_size=1)
MAYBE = st.lists(st.none() | st.binary(max_size=3), min_size=1)


def integers(bits: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), min_size=1)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("bytea", BYTES),
        ("bytea", MAYBE),
        ("smallint", integers(16)),
        ("integer", integers(32)),
        ("bigint", integers(64)),
    ],
)
def test_every_member_arrives_as_it_is(postgres_url: str, kind: str, members: st.SearchStrategy[list[Any]]) -> None:
    engine = create_engine(postgres_url)
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        assert send_binary_arrays(driver)

        @settings(
            suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=sized(20, 50)
        )
        @given(members)
        def check(values: list[Any]) -> None:
            array = binary_array(values, kind)
            assert isinstance(array, BinaryArray)
            got = connection.exec_driver_sql(f"SELECT %s::{kind}[]", (array,)).scalar_one()
            assert got == values

        check()
    engine.dispose()


def test_the_bytes_are_those_of_the_server_s_source() -> None:
    head = bytes.fromhex("00000001 00000000 00000011 00000002 00000001")
    assert binary_array([b"a", b"b"], "bytea") == head + bytes.fromhex("00000001 61 00000001 62")
    assert binary_array([b"a", b"bc"], "bytea") == head + bytes.fromhex("00000001 61 00000002 6263")
    with_null = bytes.fromhex("00000001 00000001 00000011 00000002 00000001")
    assert binary_array([None, b"b"], "bytea") == with_null + bytes.fromhex("ffffffff 00000001 62")
    assert binary_array([-1], "smallint") == bytes.fromhex("00000001 00000000 00000015 00000001 00000001 00000002 ffff")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "bytea"),
        ([b"a", "b"], "bytea"),
        ([b"a", 1], "bytea"),
        ([1], "bytea"),
        ([True], "integer"),
        ([1, None], "integer"),
        ([2**31], "integer"),
        ([b"1"], "integer"),
        ([1], "numeric"),
        (["a"], "text"),
    ],
)
def test_the_rest_is_for_the_server_to_read_from_text(values: list[Any], kind: str) -> None:
    assert binary_array(values, kind) is None
