"""Secrets do not print, pickle, copy, change or hash."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.secret import SecretKey, SecretText

SECRETS = [SecretKey(b"0123456789abcdef"), SecretText("0123456789abcdef")]


@pytest.mark.parametrize("secret", SECRETS, ids=["key", "text"])
@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, lambda s: f"{[s]}"])
def test_a_secret_does_not_print(secret: Any, show: Any) -> None:
    assert show(secret).strip("[]") in {"SecretKey(…)", "SecretText(…)"}


@pytest.mark.parametrize("secret", SECRETS, ids=["key", "text"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_does_not_pickle(secret: Any, protocol: int) -> None:
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(secret, protocol)


@pytest.mark.parametrize("secret", SECRETS, ids=["key", "text"])
@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, hash, vars, lambda secret: secret.__getstate__()])
def test_a_secret_is_neither_copied_nor_hashed_nor_taken_apart(secret: Any, use: Any) -> None:
    with pytest.raises(TypeError):
        use(secret)


@pytest.mark.parametrize("secret", SECRETS, ids=["key", "text"])
def test_a_secret_does_not_change(secret: Any) -> None:
    with pytest.raises(AttributeError, match="does not change"):
        secret._raw = b""
    with pytest.raises(AttributeError, match="does not change"):
        del secret._raw


@given(a=st.binary(min_size=16, max_size=64), b=st.binary(min_size=16, max_size=64))
def test_keys_are_equal_exactly_if_their_bytes_are(a: bytes, b: bytes) -> None:
    assert (SecretKey(a) == SecretKey(b)) == (a == b)
    assert SecretKey(a) == SecretKey(bytes(a))


def test_a_key_is_not_equal_to_its_bytes() -> None:
    assert SecretKey(bytes(16)) != bytes(16)
    assert SecretText("x") != "x"
    assert SecretText("x") == SecretText("x")


@pytest.mark.parametrize("raw", ["00" * 16, None, bytearray(32), memoryview(bytes(32))])
def test_k10_06_text_where_bytes_are_wanted_is_a_clear_error(raw: Any) -> None:
    with pytest.raises(TypeError, match="a key is bytes, not") as raised:
        SecretKey(raw)
    assert "\n" not in str(raised.value)
    assert "0000" not in str(raised.value)


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_key_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        SecretKey(bytes(size))


def test_a_secret_text_is_revealed_on_purpose_only() -> None:
    assert SecretText("token").reveal() == "token"
    with pytest.raises(TypeError):
        SecretText(b"token")  # type: ignore[arg-type]


def test_k14_a_text_that_was_not_decoded_is_compared_without_an_error_that_holds_it() -> None:
    """Python keeps bytes of a variable that are no UTF-8 as lone surrogates, and UnicodeEncodeError holds its text."""
    assert SecretText("hunter2\udce9") == SecretText("hunter2\udce9")
    assert SecretText("hunter2\udce9") != SecretText("hunter2\udcea")
    assert SecretText("hunter2\udce9") != SecretText("hunter2\u00e9")
