import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dp.run_order import by_unit, ordered, run_lengths, run_starts

WORDS = st.sampled_from([0, 1, 2**32, 2**63, 2**64 - 1])
KEYS = st.one_of(WORDS, st.integers(0, 2**64 - 1))


@given(rows=st.lists(st.tuples(st.integers(0, 5), KEYS, st.integers(-3, 3)), max_size=40))
def test_rows_are_ordered_by_run_then_key_then_what_comes_after(rows: list[tuple[int, int, int]]) -> None:
    rows.sort(key=lambda row: row[0])
    run, key, after = (
        np.array([row[at] for row in rows], dtype=t) for at, t in enumerate((np.int64, np.uint64, np.int64))
    )
    assert [rows[place] for place in ordered(run, key, after).tolist()] == sorted(rows)


@given(units=st.lists(st.tuples(WORDS, WORDS), max_size=40), clash=st.booleans())
def test_each_unit_is_one_run_also_when_hashes_clash(units: list[tuple[int, int]], clash: bool) -> None:
    words = np.array(units, dtype=np.uint64).reshape(-1, 2)
    hashes = np.zeros(len(units), dtype=np.uint64) if clash else words[:, 0] * np.uint64(7) + words[:, 1]
    order, starts = by_unit(words, hashes)
    heads = [units[place] for place in order[starts].tolist()]
    assert sorted(heads) == sorted(set(units))
    assert run_lengths(starts).tolist() == [units.count(head) for head in heads]


@given(column=st.lists(st.integers(0, 3), max_size=20))
def test_runs_begin_where_the_value_changes(column: list[int]) -> None:
    starts = run_starts(np.array(column, dtype=np.int64))
    assert starts.tolist() == [at == 0 or column[at] != column[at - 1] for at in range(len(column))]
    assert run_lengths(starts).sum() == len(column)
