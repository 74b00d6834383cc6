"""Rows to blame are found by halves: exactly they, whatever the batch, in few transactions where they are few."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from vault.jobs.blame import Blame, Refused, Written
from vault.jobs.change import Change


class Table:
    """refused, locked: keys. pieces: sizes of what was tried."""

    def __init__(self, refused: set[int], locked: set[int]) -> None:
        self.refused, self.locked = refused, locked
        self.written: list[int] = []
        self.pieces: list[int] = []

    def write(self, changes: Sequence[Change]) -> Written | Refused:
        keys = [change.key[0] for change in changes]
        self.pieces.append(len(keys))
        if self.locked & set(keys):
            return Refused()
        if self.refused & set(keys):
            return Refused("by a rule")
        self.written += keys
        return Written(len(keys))


def changes(rows: int) -> list[Change]:
    return [Change((at,), (b"old",), (b"new",)) for at in range(rows)]


@given(st.integers(1, 60), st.sets(st.integers(0, 59)), st.sets(st.integers(0, 59)))
def test_all_others_are_written_once_in_order_and_each_refused_row_is_found(
    rows: int, refused: set[int], locked: set[int]
) -> None:
    table = Table(refused, locked)
    found = Blame(table.write).find(changes(rows))
    assert table.written == [at for at in range(rows) if at not in refused | locked]
    assert found.written == len(table.written)
    assert [change.key[0] for change, _ in found.refused] == [at for at in range(rows) if at in refused - locked]


def test_one_row_of_ten_thousand_costs_some_thirty_transactions() -> None:
    table = Table({7_777}, set())
    Blame(table.write).find(changes(10_000))
    assert len(table.pieces) < 30


def test_after_so_many_seconds_the_others_are_left_for_the_next_pass() -> None:
    ticks = iter(range(100))
    table = Table(set(range(1000)), set())
    found = Blame(table.write, seconds=10, clock=lambda: float(next(ticks))).find(changes(1000))
    assert len(table.pieces) <= 10
    assert found.written == 0
