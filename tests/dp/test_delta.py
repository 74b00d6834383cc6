from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.delta import parse_delta
from dp.errors import ParameterError
from dp.nano import show_atto


@pytest.mark.parametrize(
    ("written", "atto"),
    [("0", 0), (0, 0), ("1e-6", 10**12), (1e-6, 10**12), (Decimal("1E-18"), 1), (Fraction(1, 2), 5 * 10**17)],
)
def test_a_delta_is_exact_however_it_is_written(written: str, atto: int) -> None:
    assert parse_delta(written) == atto


@given(st.integers(0, 10**18 - 1))
def test_what_is_shown_is_read_again(atto: int) -> None:
    assert parse_delta(show_atto(atto)) == atto


@pytest.mark.parametrize("written", ["1", 1.0, -1, "-1e-6", "1e-19", "nan", "inf", True, None, "", " 1e-6", [], 2])
def test_what_is_no_delta_is_refused(written: str) -> None:
    with pytest.raises(ParameterError, match=r"^delta: .*such as '1e-6'"):
        parse_delta(written)
