from dataclasses import replace
from typing import Any

import pytest

from kms.derive import derive
from kms.key_record import Purpose
from kms.secret import SecretKey
from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.index_slot import SlotPin
from vault.errors import DestroyedKeyError, UnknownKeyError
from vault.index.term_maker import TermMaker
from vault.terms.slow import Argon2id
from vault.terms.term import BlindIndex, term

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
    many = one.terms(iter([b"Ann", b"", b"Ann"]))
    assert many == [one.term(b"Ann"), one.term(b""), one.term(b"Ann")]
    if index.argon2id is None:
        assert many[0] == term(derived(SecretKey(RAW)), 7, A, b"Ann", index.bits)


def test_the_key_is_asked_for_again_when_its_lease_is_over() -> None:
    now = 0.0
    keyring = FixedKeyring({}, {A: RAW}, clock=lambda: now, lease=60)
    made = maker(keyring)
    before = made.term(b"Ann")
    keyring.destroyed.add(A)  # with no news to this process
    now = 59.9
    assert made.term(b"Ann") == before
    now = 60.0
    with pytest.raises(DestroyedKeyError):
        made.term(b"Ann")
    keyring.destroyed.clear()
    assert made.term(b"Ann") == before
    now = 130.0
    keyring.unwrap_again()
    assert made.term(b"Ann") == before
    assert made._held.leased.key is keyring.opening(Purpose.INDEX, A)


def test_a_key_that_is_not_to_be_had_is_told_with_its_place() -> None:
    keyring = FixedKeyring({}, {A: RAW})
    with pytest.raises(UnknownKeyError, match=r"^t\.c: names key 6e6f6e65"):
        maker(keyring, key_id=b"none").term(b"Ann")
    made = maker(keyring)
    made.term(b"Ann")
    keyring.destroy(A)
    for make in (lambda: made.term(b"Ann"), lambda: made.terms([b"Ann"])):
        with pytest.raises(DestroyedKeyError):
            make()
