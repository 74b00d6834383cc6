"""A key is due by its age since it became active, or by the label that it sealed most often."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.rotation_due import RotationDue, most_sealed, rotation_due
from tests.kms.test_key_record import NOW, RECORD

KEY = RECORD.key_id
counts = st.dictionaries(st.tuples(st.sampled_from([KEY, b"bbbb"]), st.sampled_from("abc")), st.integers(0, 2**32))


def test_a_key_is_due_when_it_was_active_for_longer_than_it_may_be() -> None:
    waited = replace(RECORD, created_at=NOW - timedelta(days=400))
    age = timedelta(days=90)
    assert rotation_due(waited, {}, now=NOW + age, max_age=age) is None
    due = rotation_due(waited, {}, now=NOW + age + timedelta(seconds=1), max_age=age)
    assert due == RotationDue(KEY, "active since 2026-01-01 00:00 UTC, 90 days")


def test_a_clock_that_was_set_back_makes_no_key_due() -> None:
    assert rotation_due(RECORD, {}, now=NOW - timedelta(days=9), max_age=timedelta(0)) is None


def test_the_limit_is_of_one_label_and_not_of_their_sum() -> None:
    sealed = {(KEY, "a.x"): 10, (KEY, "a.y"): 11, (b"bbbb", "a.x"): 99}
    assert rotation_due(RECORD, sealed, now=NOW, max_seals=11) is None
    assert rotation_due(RECORD, sealed, now=NOW, max_seals=10) == RotationDue(KEY, "11 values of a.y sealed")


@given(sealed=counts, limit=st.integers(0, 2**32))
def test_a_key_is_due_exactly_if_one_of_its_labels_is_over_the_limit(
    sealed: dict[tuple[bytes, str], int], limit: int
) -> None:
    over = any(count > limit for (key_id, _), count in sealed.items() if key_id == KEY)
    assert (rotation_due(RECORD, sealed, now=NOW, max_seals=limit) is not None) == over


@pytest.mark.parametrize("sealed", [{}, {(b"bbbb", "a"): 3}])
def test_a_key_that_sealed_nothing_has_no_label(sealed: dict[tuple[bytes, str], int]) -> None:
    assert most_sealed(KEY, sealed) == ("", 0)
    assert rotation_due(RECORD, sealed, now=NOW) is None
