from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms import framed
from vault.rows.arrays import all_fit, canonical, fits, hashes, key_bytes, keys_of, label_of, numbers, units

SCALAR = st.integers() | st.text() | st.binary() | st.floats(allow_nan=False)


@pytest.mark.parametrize(
    ("value", "kind", "does"),
    [
        (1, "int", True),
        (2**63, "int", False),
        (True, "int", False),
        (1.0, "int", False),
        (None, "int", False),
        (float("nan"), "float", True),
        (3, "float", True),
        ("x", "float", False),
        ("x", "str", True),
        (b"x", "bytes", True),
        (True, "bool", False),
    ],
)
def test_only_values_of_the_declared_kind_fit(value: object, kind: str, does: bool) -> None:
    assert fits(value, kind) is does  # type: ignore[arg-type]


KINDS: list[Any] = ["int", "float", "str", "bytes", "uuid", "bool", "date"]
VALUE = SCALAR | st.none() | st.booleans() | st.uuids() | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1])


@given(st.lists(VALUE) | st.lists(st.integers(-(2**63) - 1, 2**63)) | st.lists(st.floats()), st.sampled_from(KINDS))
def test_a_look_at_all_never_says_more_than_one_at_each(values: list[object], kind: Any) -> None:
    assert not all_fit(values, kind) or all(fits(value, kind) for value in values)


@pytest.mark.parametrize(
    ("values", "kind"), [([2**63 - 1, -(2**63)], "int"), ([1.5], "float"), (["a"], "str"), ([b"a"], "bytes")]
)
def test_the_usual_columns_are_told_at_once(values: list[object], kind: Any) -> None:
    assert all_fit(values, kind)


@pytest.mark.parametrize(
    ("values", "kind"), [([2**63, 1], "int"), ([1, -(2**63) - 1], "int"), ([True], "int"), ([], "int"), ([1], "float")]
)
def test_a_column_with_one_odd_value_is_looked_at_one_by_one(values: list[object], kind: Any) -> None:
    assert not all_fit(values, kind)


def test_numbers_keep_their_kind() -> None:
    assert numbers([2**62, -1], "int").tolist() == [2**62, -1]
    assert numbers([1, 2.5], "float").dtype == np.float64
    assert numbers([], "float").dtype == np.float64


def test_units_are_integers_or_full_length_hashes() -> None:
    assert units([1, 2], "int").dtype == np.int64
    hashed = units(["a", "b", "a"], "str")
    assert hashed.dtype == np.dtype("S32")
    assert hashed[0] == hashed[2] != hashed[1]


def test_a_uuid_can_be_a_unit_and_nothing_else_fits_there() -> None:
    one, other = UUID(int=1), UUID(int=2)
    assert fits(one, "uuid")
    assert not fits(str(one), "uuid")
    hashed = units([one, other, one], "uuid")
    assert hashed[0] == hashed[2] != hashed[1]


@given(st.tuples(SCALAR, SCALAR), st.tuples(SCALAR, SCALAR))
def test_different_keys_have_different_bytes(one: tuple[object, ...], two: tuple[object, ...]) -> None:
    same = [(type(v), str(v)) for v in one] == [(type(v), str(v)) for v in two]
    assert (key_bytes([[part] for part in one]) == key_bytes([[part] for part in two])) is same


KEYS = st.integers() | st.text(max_size=80) | st.binary(max_size=80) | st.booleans()


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[KEYS] * width), min_size=1)))
def test_keys_are_framed_part_by_part(keys: list[tuple[Any, ...]]) -> None:
    assert key_bytes(list(zip(*keys, strict=True))) == [framed(*map(canonical, key)) for key in keys]


def test_a_value_has_one_spelling_whatever_the_driver_wraps_it_in() -> None:
    assert canonical(memoryview(b"x")) == canonical(b"x")
    assert canonical("1") != canonical(1)


def test_equal_values_have_one_hash_and_others_another() -> None:
    found = hashes(["a", "b", "a"], "str", b"salt").tolist()
    assert found[0] == found[2] != found[1]
    assert found != hashes(["a", "b", "a"], "str", b"tlas").tolist()
    assert (
        hashes([0.0, -0.0, 0], "float", b"salt").tolist()[0:1] * 3 == hashes([0.0, -0.0, 0], "float", b"salt").tolist()
    )
    assert hashes([1], "int", b"")[0] != hashes(["1"], "str", b"")[0]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(), max_size=20), st.binary(max_size=80))
def test_a_hash_has_62_bits(values: list[object], salt: bytes) -> None:
    assert all(0 <= one < 2**62 for one in hashes(values, "str", salt).tolist())


@given(st.lists(st.text(st.characters()) | st.none(), max_size=20))
def test_a_key_is_called_as_its_value_was(values: list[str | None]) -> None:
    places, keys = keys_of(values, "str")
    assert [None if at < 0 else label_of(keys[at]) for at in places] == values
    assert len(set(keys)) == len(keys)
    assert label_of(keys_of([-5], "int")[1][0]) == -5
