"""Partials: whatever the split, what counts is what one scan would have kept; and their bytes are theirs alone."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import Caps, Chunk, Count, Grid, ParameterError, Partial, Sum, UndeclaredGroups
from dp.bounding import bound_part
from dp.questions.quantiles import Ordered
from tests.dp.questions.every import additive, choosing
from tests.sizes import sized

SALT = b"salt of a dataset"
GRID = Grid.of(-5, 50, "0.5")
rows = st.lists(
    st.tuples(st.integers(0, 6), st.integers(-1, 3), st.integers(0, 2**64 - 1), st.floats(-1e3, 1e3) | st.just(np.nan)),
    max_size=60,
)
caps = st.builds(Caps, st.integers(1, 3), st.integers(1, 3))


def chunk(some: list[tuple[int, int, int, float]], *, as_bytes: bool, wide: int = 8) -> Chunk:
    units = [one[0] for one in some]
    unit = (
        np.array([str(u).rjust(wide, "0").encode() for u in units], f"S{wide}")
        if as_bytes
        else np.array(units, np.int64)
    )
    return Chunk(
        unit,
        np.array([one[1] for one in some], np.int32),
        np.array([one[2] for one in some], np.uint64),
        np.array([one[3] for one in some], np.float64),
    )


@given(
    some=rows, caps=caps, cuts=st.lists(st.integers(0, 60), max_size=4), as_bytes=st.booleans(), hold=st.integers(1, 9)
)
@settings(deadline=None, max_examples=sized(40, 1_000))
def test_the_answer_is_the_same_whatever_the_split(
    some: list[tuple[int, int, int, float]], caps: Caps, cuts: list[int], as_bytes: bool, hold: int
) -> None:
    ends = sorted({0, len(some), *(min(cut, len(some)) for cut in cuts)})
    parts = [some[a:b] for a, b in itertools.pairwise(ends)]
    for question in (*additive(GRID, caps, 4), *choosing(GRID, caps, 4), Sum(caps, GRID, 1)):
        alone = question.aggregate(question.bound([chunk(some, as_bytes=as_bytes)], SALT))
        partials = [question.part([chunk(part, as_bytes=as_bytes)], SALT) for part in parts]
        travelled = [Partial.from_bytes(one.to_bytes()) for one in reversed(partials)]
        together = question.aggregate(question.bound(travelled, SALT))
        assert together.totals == alone.totals
        if isinstance(together, Ordered) and isinstance(alone, Ordered):
            assert [values.tolist() for values in together.values] == [values.tolist() for values in alone.values]
    travelled = [Sum(caps, GRID, 1).part([chunk(part, as_bytes=as_bytes)], SALT) for part in parts]
    joined = bound_part(travelled, caps, SALT, n_groups=1, grid=GRID, hold_rows=hold)
    assert len(joined) <= len(some)


@given(some=rows, caps=caps)
@settings(deadline=None)
def test_of_no_unit_more_travels_than_the_caps_allow(some: list[tuple[int, int, int, float]], caps: Caps) -> None:
    part = Sum(caps, GRID, 4).part([chunk(some, as_bytes=False)], SALT)
    _, counts = np.unique(part.words, axis=0, return_counts=True)
    assert all(count <= caps.rows * caps.groups for count in counts)
    assert part.value is not None
    assert all(GRID.quantise(np.array([-1e9]))[0] <= value <= GRID.quantise(np.array([1e9]))[0] for value in part.value)


@given(some=rows)
@settings(deadline=None)
def test_bytes_that_are_read_give_the_same_bytes(some: list[tuple[int, int, int, float]]) -> None:
    told = Sum(Caps(1), GRID).part([chunk(some, as_bytes=True)], SALT).to_bytes()
    assert Partial.from_bytes(told).to_bytes() == told
    for wrong in (b"", told[:-1], told + b"\0", b"\1" + told[1:], told[:1] + b"x" + told[2:]):
        with pytest.raises(ParameterError):
            Partial.from_bytes(wrong)


@settings(deadline=None)
@given(some=rows, keys=st.lists(st.binary(max_size=5), min_size=5, max_size=5, unique=True), data=st.data())
def test_keys_travel_as_they_are(
    some: list[tuple[int, int, int, float]], keys: list[bytes], data: st.DataObject
) -> None:
    rows = chunk(some, as_bytes=False)
    part = UndeclaredGroups(Caps(1, 2)).part([Chunk(rows.unit, rows.group, rows.tie, keys=tuple(keys))], SALT)
    told = part.to_bytes()
    read = Partial.from_bytes(told)
    assert read.to_bytes() == told
    assert (read.keys, read.group.tolist()) == (part.keys, part.group.tolist())
    assert set(part.keys or ()) <= {keys[one[1]] for one in some if one[1] >= 0}  # those of dropped rows stay behind
    cut = data.draw(st.integers(1, len(told) - 1))
    for wrong in (told[:cut], told + b"\0", told[:2] + b"\4" + told[3:], told[:2] + b"\0" + told[3:]):
        with pytest.raises(ParameterError):
            Partial.from_bytes(wrong)


def test_what_is_of_another_question_is_refused() -> None:
    counted = Count(Caps(1)).part([chunk([(1, 0, 1, 1.0)], as_bytes=False)], SALT)
    summed = Sum(Caps(1), GRID).part([chunk([(1, 0, 1, 1.0)], as_bytes=True)], SALT)
    with pytest.raises(ParameterError):
        Sum(Caps(1), GRID).bound([counted], SALT)
    with pytest.raises(ParameterError):
        Sum(Caps(1), GRID).bound(
            [summed, Sum(Caps(1), GRID).part([chunk([(1, 0, 1, 1.0)], as_bytes=False)], SALT)], SALT
        )


def test_of_no_rows_it_is_empty() -> None:
    none = Count(Caps(1)).part([], SALT)
    assert (len(none), none.kind) == (0, "-")
    assert Count(Caps(1)).aggregate(Count(Caps(1)).bound([none], SALT)).totals == ((0,),)


def test_what_is_joined_is_let_go_of() -> None:
    parts = [Sum(Caps(1), GRID).part([chunk([(unit, 0, unit, 1.0)], as_bytes=False)], SALT) for unit in range(3)]
    assert len(Partial.joined(parts)) == 3
    assert parts == []
    alone = [Count(Caps(1)).part([chunk([(1, 0, 1, 1.0)], as_bytes=False)], SALT)]
    assert len(Partial.joined(alone)) == 1
    assert alone == []
