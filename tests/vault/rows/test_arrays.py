from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.rows.arrays import canonical, fits, key_bytes, numbers, units

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
    assert (key_bytes([one]) == key_bytes([two])) is same


def test_a_value_has_one_spelling_whatever_the_driver_wraps_it_in() -> None:
    assert canonical(memoryview(b"x")) == canonical(b"x")
    assert canonical("1") != canonical(1)
