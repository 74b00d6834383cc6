import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import bounding
from dp.bounding import Bounded, bound
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.tie_break import group_hash, unit_hash, unit_words
from tests.dp.rows import SALT, Row, any_rows, chunk_of, chunks_of
from tests.sizes import sized

GRID = Grid.of("-100", "100", "0.5")
CAPS = st.builds(Caps, st.integers(1, 4), st.integers(1, 4))


def kept(bounded: Bounded) -> Counter[tuple[int, int]]:
    assert bounded.value is not None
    return Counter(zip(bounded.group.tolist(), bounded.value.tolist(), strict=True))


def kept_one_by_one(rows: list[Row], caps: Caps, n_groups: int) -> Counter[tuple[int, int]]:
    """The same rule in plain Python: groups by their hash, then rows by tie and value."""
    of_unit: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if 0 <= row.group < n_groups and row.value == row.value:
            (steps,) = GRID.quantise(np.array([row.value], dtype=np.float64)).tolist()
            of_unit[row.unit][row.group].append((row.tie, steps))
    counted: Counter[tuple[int, int]] = Counter()
    for unit, groups in of_unit.items():
        hashed = unit_hash(SALT, unit_words(np.array([unit])))
        chosen = sorted(groups, key=lambda g: (int(group_hash(SALT, hashed, np.array([g], dtype=np.int32))[0]), g))
        for group in chosen[: caps.groups]:
            counted.update((group, steps) for _, steps in sorted(groups[group])[: caps.rows])
    return counted


@given(rows=any_rows(), caps=CAPS, n_groups=st.integers(1, 5))
@settings(deadline=None, max_examples=sized(37, 150))
def test_it_keeps_what_the_rule_says(rows: list[Row], caps: Caps, n_groups: int) -> None:
    bounded = bound([chunk_of(rows)], caps, SALT, n_groups=n_groups, grid=GRID)
    assert kept(bounded) == kept_one_by_one(rows, caps, n_groups)


@given(
    rows=any_rows(),
    caps=CAPS,
    n_groups=st.integers(1, 5),
    data=st.data(),
    sizes=st.lists(st.integers(0, 9), max_size=8),
    hold_rows=st.sampled_from([0, 1, 5, 1000]),
)
@settings(deadline=None, max_examples=sized(37, 150))
def test_neither_order_nor_chunks_nor_compaction_change_what_is_kept(
    rows: list[Row], caps: Caps, n_groups: int, data: st.DataObject, sizes: list[int], hold_rows: int
) -> None:
    whole = bound([chunk_of(rows)], caps, SALT, n_groups=n_groups, grid=GRID)
    shuffled = data.draw(st.permutations(rows))
    pieces = bound(chunks_of(shuffled, sizes), caps, SALT, n_groups=n_groups, grid=GRID, hold_rows=hold_rows)
    assert kept(pieces) == kept(whole)


@given(rows=any_rows(), caps=CAPS, n_groups=st.integers(1, 5))
@settings(deadline=None, max_examples=sized(25, 100))
def test_another_unit_changes_nothing_of_this_one(rows: list[Row], caps: Caps, n_groups: int) -> None:
    mine = [row for row in rows if row.unit == 0]
    others = [row for row in rows if row.unit != 0]
    together, alone, without = (
        kept(bound([chunk_of(part)], caps, SALT, n_groups=n_groups, grid=GRID)) for part in (rows, mine, others)
    )
    assert together == alone + without


@given(rows=any_rows(units=st.just(7)), caps=CAPS, n_groups=st.integers(1, 5))
@settings(deadline=None, max_examples=sized(25, 100))
def test_a_unit_keeps_no_more_than_the_caps_allow(rows: list[Row], caps: Caps, n_groups: int) -> None:
    groups = Counter(bound([chunk_of(rows)], caps, SALT, n_groups=n_groups).group.tolist())
    assert len(groups) <= caps.groups
    assert max(groups.values(), default=0) <= caps.rows
    assert sum(groups.values()) <= caps.rows * caps.groups_in(n_groups)


@given(rows=any_rows(), caps=CAPS, n_groups=st.integers(1, 5))
@settings(deadline=None, max_examples=sized(15, 60))
def test_units_of_bytes_are_bounded_by_the_same_rule(rows: list[Row], caps: Caps, n_groups: int) -> None:
    chunk = chunk_of(rows, wide_units=True)
    whole = kept(bound([chunk], caps, SALT, n_groups=n_groups, grid=GRID))
    assert whole == kept(bound([chunk_of(rows[::-1], wide_units=True)], caps, SALT, n_groups=n_groups, grid=GRID))
    if caps.groups >= n_groups:  # which groups are chosen hangs on the unit's bytes; how many rows of each does not
        assert whole == kept(bound([chunk_of(rows)], caps, SALT, n_groups=n_groups, grid=GRID))


@given(rows=any_rows(), caps=CAPS)
@settings(deadline=None, max_examples=sized(15, 60))
def test_units_that_share_a_hash_are_still_told_apart(rows: list[Row], caps: Caps) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "unit_hash", lambda salt, words: np.zeros(len(words), dtype=np.uint64))
        bounded = bound([chunk_of(rows, wide_units=True)], caps, SALT, n_groups=1, grid=GRID)
    assert kept(bounded) == kept_one_by_one(rows, caps, 1)


@given(rows=any_rows(), rows_cap=st.integers(1, 3))
@settings(deadline=None, max_examples=sized(15, 60))
def test_groups_that_share_a_hash_are_still_told_apart(rows: list[Row], rows_cap: int) -> None:
    caps = Caps(rows_cap, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "group_hash", lambda salt, unit, group: np.zeros(len(group), dtype=np.uint64))
        whole, reverse = (
            kept(bound([chunk_of(part)], caps, SALT, n_groups=5, grid=GRID)) for part in (rows, rows[::-1])
        )
    assert whole == reverse
    for unit in range(5):
        groups = sorted({row.group for row in rows if row.unit == unit and row.group >= 0 and row.value == row.value})
        of_unit = [row for row in rows if row.unit == unit]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bounding, "group_hash", lambda salt, unit, group: np.zeros(len(group), dtype=np.uint64))
            seen = bound([chunk_of(of_unit)], caps, SALT, n_groups=5, grid=GRID).group.tolist()
        assert sorted(set(seen)) == groups[:2]


def test_k20_05_caps_count_rows_of_a_person_and_not_rows() -> None:
    units = np.repeat(np.arange(1000), 1 + np.arange(1000) % 4)
    chunk = Chunk(units, np.zeros(2500, dtype=np.int32), np.arange(2500, dtype=np.uint64))
    assert [len(bound([chunk], Caps(cap), SALT, n_groups=1).group) for cap in (1, 2, 3, 4)] == [1000, 1750, 2250, 2500]


def test_without_rows_nothing_is_kept() -> None:
    assert len(bound([], Caps(1), SALT, n_groups=3).group) == 0
    assert bound([], Caps(1), SALT, n_groups=3).value is None
    empty = bound([chunk_of([])] * 2, Caps(1), SALT, n_groups=3, grid=GRID)
    assert empty.value is not None
    assert len(empty.value) == 0


def test_undeclared_groups_and_nan_do_not_use_up_a_cap() -> None:
    rows = [Row(1, -1, 0, 5.0), Row(1, 9, 0, 6.0), Row(1, 0, 1, float("nan")), Row(1, 0, 2, 3.0), Row(1, 0, 3, 4.0)]
    assert kept(bound([chunk_of(rows)], Caps(1), SALT, n_groups=2, grid=GRID)) == Counter({(0, 6): 1})


def test_one_person_with_a_million_rows_does_not_fill_the_memory() -> None:
    def million() -> Iterator[Chunk]:
        for start in range(0, 2**20, 2**14):
            ties = np.arange(start, start + 2**14, dtype=np.uint64)
            yield Chunk(np.zeros(2**14, dtype=np.int64), np.zeros(2**14, dtype=np.int32), ties, ties.astype(np.float64))

    tracemalloc.start()
    bounded = bound(million(), Caps(3), SALT, n_groups=1, grid=GRID, hold_rows=2**15)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept(bounded) == Counter({(0, 0): 1, (0, 2): 1, (0, 4): 1})
    assert peak < 10_000_000  # all rows in columns would be 29 MB


def test_rows_of_which_none_is_over_the_caps_are_held_once_and_a_little() -> None:
    n, at_once = 2**18, 2**13

    def one_each() -> Iterator[Chunk]:
        for start in range(0, n, at_once):
            units = np.arange(start, start + at_once, dtype=np.int64)
            yield Chunk(units, np.zeros(at_once, dtype=np.int32), units.astype(np.uint64), units.astype(np.float64))

    tracemalloc.start()
    bounded = bound(one_each(), Caps(1), SALT, n_groups=1, grid=GRID, hold_rows=2**15)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(bounded.group) == n
    assert peak < 43 * n  # a row is 28 bytes, a hash of its unit 8, and what is in work a megabyte


@given(rows=any_rows(), caps=CAPS, cut=st.integers(0, 40))
@settings(deadline=None, max_examples=sized(15, 60))
def test_the_width_of_a_column_of_bytes_does_not_matter(rows: list[Row], caps: Caps, cut: int) -> None:
    def of_width(some: list[Row], width: int) -> Chunk:
        chunk = chunk_of(some)
        units = np.array([b"%d" % row.unit for row in some], dtype=f"S{width}")
        return Chunk(units, chunk.group, chunk.tie, chunk.value)

    even = bound([of_width(rows, 8)], caps, SALT, n_groups=5, grid=GRID)
    mixed = [of_width(rows[:cut], 1), of_width(rows[cut:], 37)]
    assert kept(bound(mixed, caps, SALT, n_groups=5, grid=GRID, hold_rows=0)) == kept(even)


def test_chunks_of_two_types_of_unit_are_refused() -> None:
    rows = [Row(1, 0, 0, 1.0)]
    with pytest.raises(ParameterError, match=r"^unit: "):
        bound([chunk_of(rows), chunk_of(rows, wide_units=True)], Caps(1), SALT, n_groups=1)


def test_a_grid_without_values_is_refused() -> None:
    chunk = Chunk(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint64))
    with pytest.raises(ParameterError, match=r"^value: "):
        bound([chunk], Caps(1), SALT, n_groups=1, grid=GRID)
