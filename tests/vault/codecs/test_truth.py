import numpy as np
import pytest

from vault.codecs.truth import BOOL
from vault.errors import InvalidValueError


@pytest.mark.parametrize("value", [True, np.True_])
def test_kinds_of_truth_are_stored_alike(value: object) -> None:
    assert BOOL.encode(value) == BOOL.equality(value) == b"\1"
    assert BOOL.decode(b"\1") is True


@pytest.mark.parametrize("value", [1, 0, np.int64(1), "true", 1.0, None])
def test_what_is_only_like_a_truth_value_is_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match=f"holds bool, not {type(value).__name__}"):
        BOOL.encode(value)
