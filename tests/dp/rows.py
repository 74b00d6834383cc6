"""Rows of the tests: plain tuples, hostile values among them, and how they become chunks."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from dp.chunk import Chunk

SALT = b"the dataset's salt"
HOSTILE_FLOATS = [
    math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 0.5, 1.5, 2.5, -0.5, 1e16, 2.0**53 + 2, 99.995, 7.0
]  # fmt: skip
HOSTILE_INTS = [0, 1, -1, 5, 2**31, -(2**31), 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]


class Row(NamedTuple):
    unit: int
    group: int
    tie: int
    value: float | int = 0


def any_rows(
    *, floats: bool = True, units: st.SearchStrategy[int] | None = None, max_size: int = 40
) -> st.SearchStrategy[list[Row]]:
    """Rows with few units, groups and ties, so that caps bind and ties happen."""
    values: st.SearchStrategy[float] | st.SearchStrategy[int]
    if floats:
        values = st.one_of(st.sampled_from(HOSTILE_FLOATS), st.floats(allow_nan=True), st.floats(-200, 200))
    else:
        values = st.one_of(st.sampled_from(HOSTILE_INTS), st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200))
    row = st.builds(
        Row,
        unit=st.integers(0, 4) if units is None else units,
        group=st.integers(-1, 4),
        tie=st.one_of(st.sampled_from([0, 1, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1)),
        value=values,
    )
    return st.lists(row, max_size=max_size)


def chunk_of(rows: list[Row], *, floats: bool = True, wide_units: bool = False) -> Chunk:
    """One chunk; wide_units: each unit as 32 bytes instead of an integer."""
    units = np.array([row.unit for row in rows], dtype=np.int64)
    return Chunk(
        unit=np.array([b"%032d" % unit for unit in units.tolist()], dtype="S32") if wide_units else units,
        group=np.array([row.group for row in rows], dtype=np.int32),
        tie=np.array([row.tie for row in rows], dtype=np.uint64),
        value=np.array([row.value for row in rows], dtype=np.float64 if floats else np.int64),
    )


def chunks_of(rows: list[Row], sizes: Iterable[int] = (), *, floats: bool = True) -> Iterator[Chunk]:
    """The rows cut into chunks of these sizes, what is left in one more."""
    start = 0
    for size in sizes:
        yield chunk_of(rows[start : start + size], floats=floats)
        start += size
    yield chunk_of(rows[start:], floats=floats)
