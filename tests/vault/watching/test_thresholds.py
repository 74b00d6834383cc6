from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from vault.watching.thresholds import DEFAULTS, Thresholds


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tiny", Fraction(-1)),
        ("single", Fraction(2)),
        ("full", Fraction(11, 10)),
        ("tiny_count", 1),
        ("near_count", 1),
        ("full_windows", 0),
        ("tiny_within", timedelta()),
    ],
)
def test_one_that_tells_of_everything_or_of_nothing_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Thresholds(**{name: value})


def test_the_defaults_are_thresholds() -> None:
    assert Thresholds() == DEFAULTS
