"""A field's error says which of the three it is, with what an operator can do, and pickles."""

import pickle

import pytest

from kms.errors import KeyDestroyedError, KeyRetiredError, UnknownKeyIdError
from tests.kms.test_key_record import NOW
from vault.errors import DestroyedKeyError, RetiredKeyError, UnknownKeyError
from vault.sealed.key_refusal import key_refusal

KEY = bytes.fromhex("01020304")


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (UnknownKeyIdError("main", KEY, "data"), UnknownKeyError, "not in the keyring"),
        (KeyDestroyedError("main", KEY), DestroyedKeyError, "was destroyed"),
        (KeyRetiredError("main", KEY, NOW, NOW), RetiredKeyError, "keys restore 01020304"),
    ],
)
def test_each_has_an_error_of_its_own(
    error: UnknownKeyIdError | KeyDestroyedError | KeyRetiredError, kind: type[UnknownKeyError], told: str
) -> None:
    refusal = key_refusal("t", "c", KEY, error)
    assert type(refusal) is kind
    assert refusal.key_id == "01020304"
    assert told in str(refusal)
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)


def test_a_retired_key_says_since_when_and_until_when() -> None:
    refusal = key_refusal("t", "c", KEY, KeyRetiredError("main", KEY, NOW, NOW.replace(month=2)))
    assert "since 2026-01-01 00:00 UTC and may be destroyed from 2026-02-01 00:00 UTC on" in str(refusal)
