"""The length of what is told says how many rows were read, and nothing of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import JobError
from vault.rows.scan import Batch
from vault.rows.told_length import HEAD_BYTES, MOST_ROW_BYTES, Counted, as_of_all_rows, of_any_length


@given(rows=st.integers(0, 50), data=st.data())
def test_it_is_one_length_for_as_many_rows_and_comes_back(rows: int, data: st.DataObject) -> None:
    told = data.draw(st.binary(max_size=HEAD_BYTES + rows * MOST_ROW_BYTES))
    padded = as_of_all_rows(told, rows)
    assert len(padded) == len(as_of_all_rows(b"", rows))
    assert of_any_length(padded) == told


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="more is told"):
        as_of_all_rows(bytes(HEAD_BYTES + MOST_ROW_BYTES + 1), 1)
    for wrong in (b"", b"\xff" * 8, b"\x09" + bytes(15)):
        with pytest.raises(JobError):
            of_any_length(wrong)


def test_rows_that_do_not_open_count_too() -> None:
    class Two:
        def batches(self) -> list[Batch]:
            return [Batch({}, [[1, 2]], 1), Batch({}, [[]], 4)]

    counted = Counted(Two())  # type: ignore[arg-type]
    assert len(list(counted.batches())) == 2
    assert counted.rows == 7
