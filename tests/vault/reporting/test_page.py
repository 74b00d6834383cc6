"""What is not seen is written as an escape."""

from hypothesis import given
from hypothesis import strategies as st

from vault.reporting.page import visible


def test_marks_that_turn_or_end_a_line_are_told() -> None:
    assert visible("a\u202eb\nc\u200fd\x00") == "a\\u202eb\\nc\\u200fd\\x00"
    assert visible("café שלום 'x'") == "café שלום 'x'"


@given(st.text())
def test_whatever_it_is_it_stands_on_one_line(text: str) -> None:
    assert visible(text).isprintable()
    assert len(f"{visible(text)}.".splitlines()) == 1
