"""A data key says which key it is and nothing more."""

import copy
import pickle

import pytest

from kms.data_key import DataKey, LeasedKey
from kms.key_record import Purpose
from kms.secret import SecretKey

KEY = DataKey(b"\x01\x02\x03\x04", Purpose.DATA, 1, SecretKey(b"0123456789abcdef"))


def test_a_data_key_does_not_print_its_bytes() -> None:
    for shown in (repr(KEY), repr(LeasedKey(KEY, 1.0))):
        assert "SecretKey(…)" in shown
        assert "0123456789" not in shown


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_data_key_is_not_pickled_or_copied(use: object) -> None:
    with pytest.raises(TypeError, match="never"):
        use(KEY)  # type: ignore[operator]
    with pytest.raises(TypeError, match="never"):
        pickle.dumps(LeasedKey(KEY, 1.0))


def test_a_lease_that_the_keyring_ends_is_over_at_once() -> None:
    leased = LeasedKey(KEY, 1.0)
    leased.end()
    assert leased.until < 0
