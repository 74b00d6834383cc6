import pytest

from dp.nano import show, show_atto


@pytest.mark.parametrize(("nano", "text"), [(1, "0.000000001"), (0, "0"), (10**9, "1"), (-15 * 10**8, "-1.5")])
def test_an_epsilon_is_shown_without_trailing_zeros(nano: int, text: str) -> None:
    assert show(nano) == text


@pytest.mark.parametrize(
    ("atto", "text"), [(0, "0"), (1, "0.000000000000000001"), (10**12, "0.000001"), (5 * 10**17, "0.5"), (10**18, "1")]
)
def test_a_delta_is_shown_without_trailing_zeros(atto: int, text: str) -> None:
    assert show_atto(atto) == text
