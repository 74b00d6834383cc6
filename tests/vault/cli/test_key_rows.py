"""What keys list tells of a key: states with their dates, and seals of which the most sealed field counts."""

from dataclasses import replace
from datetime import timedelta

from kms import KeyState
from kms.seal_counter import ROTATE_AFTER_SEALS
from tests.kms.test_key_record import NOW, RECORD
from vault.cli.key_rows import SHOWN, key_rows, numbered_keks, shown

KEY = RECORD.key_id


def test_seals_are_told_as_most_and_total() -> None:
    counts = {(KEY, "a.x"): 256, (KEY, "a.y"): 1024, (b"bbbb", "a.x"): 9}
    (row,) = key_rows([RECORD], counts)
    assert (row["most_seals"], row["seals"], row["rotate"]) == (1024, 1280, False)
    cells = dict(zip(SHOWN, shown(row, NOW + timedelta(days=12, hours=3), numbered_keks([row])), strict=True))
    assert cells["age"] == "12d"
    assert cells["seals"] == "1024 of a field, 1280 in all"
    assert cells["state"] == "active 2026-01-01"
    assert cells["kek"] == "1"


def test_a_key_past_half_of_its_seals_is_marked_and_not_by_its_sum() -> None:
    spread = {(KEY, f"a.{n}"): 2**30 for n in range(9)}
    over = {(KEY, "a.x"): ROTATE_AFTER_SEALS + 1}
    old = replace(RECORD, state=KeyState.DEACTIVATED)
    cases = ((RECORD, spread), (RECORD, over), (old, over))
    marks = [shown(key_rows([key], counts)[0], NOW, {})[5][0] for key, counts in cases]
    assert [mark == "!" for mark in marks] == [False, True, False]


def test_a_retired_key_has_both_its_dates_and_a_tombstone_no_kek() -> None:
    retired = replace(RECORD, state=KeyState.RETIRED, destroy_after=NOW + timedelta(days=30))
    destroyed = replace(RECORD, state=KeyState.DESTROYED, wrapped=None)
    one, two = key_rows([retired, destroyed], {})
    assert shown(one, NOW, {})[3] == "retired 2026-01-01, until 2026-01-31"
    assert (one["state"], one["destroy_after"]) == ("retired", "2026-01-31T00:00:00+00:00")
    assert (two["kek"], two["destroy_after"], shown(two, NOW, {})[3]) == ("", "", "destroyed 2026-01-01")
    assert shown(two, NOW, {})[5] == "0"


def test_each_kek_and_version_has_one_number_and_a_tombstone_none() -> None:
    wrapped = RECORD.wrapped
    assert wrapped is not None
    newer = replace(RECORD, wrapped=replace(wrapped, kek_version="2"))
    rows = key_rows([RECORD, newer, RECORD, replace(RECORD, state=KeyState.DESTROYED, wrapped=None)], {})
    keks = numbered_keks(rows)
    assert keks == {(wrapped.kek, "1"): 1, (wrapped.kek, "2"): 2}
    assert [shown(row, NOW, keks)[-1] for row in rows] == ["1", "2", "1", ""]
