from hypothesis import given
from hypothesis import strategies as st

from dp.search import largest, smallest


@given(st.integers(-50, 50), st.integers(0, 100), st.integers(0, 100))
def test_the_turn_is_found(low: int, below: int, above: int) -> None:
    turn = low + below
    assert smallest(lambda n: n >= turn, low, turn + above) == turn
    assert largest(lambda n: n <= turn, low, turn + above) == turn
