import numpy as np
import pytest

from dp.chunk import Chunk
from dp.errors import ParameterError

GOOD = {
    "unit": np.arange(3, dtype=np.int64),
    "group": np.zeros(3, dtype=np.int32),
    "tie": np.zeros(3, dtype=np.uint64),
    "value": np.array([1.0, 2.0, 3.0]),
}


def test_a_chunk_has_as_many_rows_as_its_columns() -> None:
    assert len(Chunk(**GOOD)) == 3
    assert len(Chunk(**{**GOOD, "value": None})) == 3
    assert len(Chunk(**{**GOOD, "unit": np.array([b"a" * 32] * 3, dtype="S32")})) == 3


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ("unit", np.zeros(3)), ("unit", np.zeros(3, dtype=np.int32)), ("unit", np.array(["a"] * 3)),
        ("unit", [1, 2, 3]),
        ("unit", np.zeros((3, 1), dtype=np.int64)), ("unit", np.array([None] * 3)), ("unit", np.zeros(3, dtype=">i8")),
        ("group", np.zeros(3, dtype=np.int64)), ("group", np.zeros(2, dtype=np.int32)), ("group", None),
        ("tie", np.zeros(3, dtype=np.int64)), ("tie", np.zeros(4, dtype=np.uint64)),
        ("value", np.zeros(3, dtype=np.float32)), ("value", np.zeros(3, dtype=bool)), ("value", np.zeros(2)),
        ("value", np.array([1, None, 2])), ("value", np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])),
    ],
)  # fmt: skip
def test_a_column_of_another_type_or_length_is_refused_by_name(column: str, wrong: object) -> None:
    with pytest.raises(ParameterError, match=f"^{column}: "):
        Chunk(**{**GOOD, column: wrong})


def test_a_chunk_does_not_show_its_rows() -> None:
    assert "1." not in repr(Chunk(**GOOD))


@pytest.mark.parametrize("keys", [["a"], ("a",), [b"a"], (b"a", None), b"a", (np.bytes_(b"a"),)])
def test_keys_are_a_tuple_of_bytes(keys: object) -> None:
    assert Chunk(**GOOD, keys=(b"a", b"")).keys == (b"a", b"")
    with pytest.raises(ParameterError, match=r"^keys: "):
        Chunk(**GOOD, keys=keys)
