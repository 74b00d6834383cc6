"""Changes by their columns are the same as the changes one by one, in whatever part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.jobs.change import Change
from vault.jobs.changes import Changes

VALUES = st.none() | st.binary(max_size=3)
SOME = st.lists(
    st.builds(Change, st.tuples(st.integers()), st.tuples(VALUES, VALUES), st.tuples(VALUES)), min_size=1, max_size=9
)


@given(SOME)
def test_each_change_is_had_back(changes: list[Change]) -> None:
    by_column = Changes.of(changes)
    assert list(by_column) == changes
    assert [by_column[at] for at in range(len(by_column))] == changes
    assert Changes.of(by_column) is by_column


@given(SOME, st.integers(0, 9), st.integers(0, 9))
def test_a_slice_is_changes_too(changes: list[Change], begin: int, end: int) -> None:
    part = Changes.of(changes)[begin:end]
    assert isinstance(part, Changes)
    assert list(part) == changes[begin:end]


@given(SOME, st.data())
def test_only_those_that_are_wanted(changes: list[Change], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.booleans(), min_size=len(changes), max_size=len(changes)))
    kept = [change for change, one in zip(changes, wanted, strict=True) if one]
    assert list(Changes.of(changes).only(wanted)) == kept


def test_a_column_that_is_too_short_is_refused() -> None:
    keys, both, one = [(1,), (2,)], [b"a", b"b"], [b"a"]
    with pytest.raises(ValueError, match="one value a key"):
        Changes(keys, [both], [one])
    with pytest.raises(ValueError, match="one value a key"):
        Changes(keys, [one], [both])


def test_no_value_and_no_key_is_shown() -> None:
    assert "secret" not in repr(Changes([("secret",)], [[b"secret"]], [[b"secret"]]))
