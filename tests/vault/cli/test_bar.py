import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vault.cli.bar import WIDTH, Bar


@given(spent=st.integers(0, 10**15), cap=st.integers(0, 10**14))
def test_the_bar_is_full_where_nothing_is_left_and_empty_where_nothing_is_spent(spent: int, cap: int) -> None:
    filled = Bar(spent, cap).filled
    assert 0 <= filled <= WIDTH
    assert (filled == WIDTH) == (spent >= cap)
    assert (filled == 0) == (spent == 0 and cap > 0)
    assert Bar(spent + 1, cap).filled >= filled


def test_of_what_is_nearly_gone_something_is_left() -> None:
    assert (Bar(99, 100).filled, Bar(1, 10**6).filled) == (WIDTH - 1, 1)


def test_without_colour_it_is_in_signs_and_with_colour_in_colour() -> None:
    plain, coloured = io.StringIO(), io.StringIO()
    Console(file=plain, width=80).print(Bar(1, 2))
    Console(file=coloured, width=80, force_terminal=True, color_system="standard").print(Bar(1, 2))
    assert plain.getvalue() == "########........\n"
    assert "\x1b[" in coloured.getvalue()
    assert "#" not in coloured.getvalue()
