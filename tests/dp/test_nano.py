import pytest

from dp.nano import show


@pytest.mark.parametrize(("nano", "text"), [(1, "0.000000001"), (0, "0"), (10**9, "1"), (-15 * 10**8, "-1.5")])
def test_an_epsilon_is_shown_without_trailing_zeros(nano: int, text: str) -> None:
    assert show(nano) == text
