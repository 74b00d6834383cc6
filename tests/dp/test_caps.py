"""Caps: what they may be."""

import pytest

from dp.caps import Caps
from dp.errors import ParameterError


@pytest.mark.parametrize("cap", [0, -1, True, 1.0, None, 2**31])
def test_a_cap_is_a_whole_number_from_one(cap: int) -> None:
    with pytest.raises(ParameterError, match=r"^caps\.rows: "):
        Caps(cap)
    with pytest.raises(ParameterError, match=r"^caps\.groups: "):
        Caps(1, cap)
