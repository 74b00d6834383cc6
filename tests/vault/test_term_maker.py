from dataclasses import replace
from typing import Any

import pytest

from kms.derive import derive
from kms.secret import SecretKey
from tests.vault.fixed_keyring import FixedKeyring
from vault.errors import DestroyedKeyError, UnknownKeyError
from vault.index_slot import SlotPin
from vault.slow import Argon2id
from vault.term import BlindIndex, term
from vault.term_maker import TermMaker

A = b"idxa"
RAW = bytes(range(32))
QUICK = Argon2id(7168, 1, 1)
WHOLE, NARROW = BlindIndex(), BlindIndex(bits=9)


def derived(key: SecretKey) -> SecretKey:
    return derive(key, b"a use")


def maker(keyring: Any, index: BlindIndex = WHOLE, key_id: bytes = A) -> TermMaker:
    return TermMaker(("t", "c"), derived, SlotPin(key_id, 7), keyring, index)


@pytest.mark.parametrize("index", [WHOLE, NARROW, replace(WHOLE, slow=QUICK), replace(NARROW, slow=QUICK)])
def test_one_and_many_are_made_alike(index: BlindIndex) -> None:
    keyring = FixedKeyring({}, {A: RAW})
    one = maker(keyring, index)
    encodings: list[Any] = [b"Ann", None, b"", b"skip"]
    many = one.terms(encodings, lambda value: None if value == b"skip" else value)  # type: ignore[arg-type, return-value]
    assert many == [one.term(b"Ann"), None, one.term(b""), None]
    if index.argon2id is None:
        assert many[0] == term(derived(SecretKey(RAW)), 7, A, b"Ann", index.bits)


def test_a_key_that_is_not_to_be_had_is_told_with_its_place() -> None:
    keyring = FixedKeyring({}, {A: RAW})
    with pytest.raises(UnknownKeyError, match=r"^t\.c: names key 6e6f6e65"):
        maker(keyring, key_id=b"none").term(b"Ann")
    made = maker(keyring)
    made.term(b"Ann")
    keyring.destroy(A)
    with pytest.raises(DestroyedKeyError):
        made.terms([b"Ann"], lambda value: b"Ann")
