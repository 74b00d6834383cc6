from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import LeaseExpiredError
from tests.vault.fixed_keyring import FixedKeyring
from tests.vault.vector_cases import cases, definition_of, error_of, row_of, value_of
from vault.definitions.definition import FieldDefinition
from vault.errors import CannotOpenError, DestroyedKeyError, FieldError, NotSealedError, UnknownKeyError
from vault.sealed.bulk_opening import open_many
from vault.sealed.opening import Opening
from vault.sealed.sealing import Sealing

NAME = FieldDefinition("patients", "name", "str/1")
OLD, NEW = b"old\x01", b"new\x02"


def opening_of(keyring: Any, definition: FieldDefinition = NAME, *others: FieldDefinition) -> Opening:
    return Opening(definition, {other.generation: other for other in others}, keyring)


def published(test: dict[str, Any]) -> Opening:
    keys = {bytes.fromhex(key_id): bytes.fromhex(raw) for key_id, raw in test["keys"].items()}
    keyring = FixedKeyring(keys, keyring_id=bytes.fromhex(test["keyring"]))
    return opening_of(keyring, definition_of(test["field"]), *map(definition_of, test.get("generations", [])))


@pytest.mark.parametrize("test", cases("sealed_value", "valid"))
def test_values_are_opened_as_published(test: dict[str, Any]) -> None:
    opening, sealed, row = published(test), bytes.fromhex(test["sealed"]), row_of(test["row"])
    for stored in (sealed, sealed, memoryview(sealed), bytearray(sealed), memoryview(bytearray(sealed))):
        assert repr(opening.open(stored, row)) == repr(value_of(test["value"]))
    assert repr(open_many(opening, [sealed], None if row is None else [row])) == repr([value_of(test["value"])])


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("test", cases("sealed_value", "invalid"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any], warm: bool) -> None:
    opening, sealed, row = published(test), bytes.fromhex(test["sealed"]), row_of(test["row"])
    if warm:
        with pytest.raises(FieldError):
            opening.open(sealed, row)
    with pytest.raises(FieldError) as raised:
        opening.open(sealed, row)
    assert type(raised.value) is error_of(test)
    assert raised.value.__context__ is None
    assert test["sealed"][12:] not in repr(raised.value) or len(sealed) < 7
    (marked,) = open_many(opening, [sealed], None if row is None else [row])
    assert type(marked) is error_of(test)


@pytest.fixture
def keyring() -> FixedKeyring:
    return FixedKeyring({OLD: bytes(range(32))})


@given(data=st.binary(max_size=80), head=st.booleans())
def test_whatever_the_bytes_are_only_our_errors_are_raised(data: bytes, head: bool) -> None:
    opening = opening_of(FixedKeyring({OLD: bytes(32)}))
    stored = b"\x01\x00" + OLD + data if head else data
    with pytest.raises((NotSealedError, CannotOpenError, UnknownKeyError)):
        opening.open(stored)


@given(text=st.text(max_size=20), at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_no_bit_can_be_flipped(text: str, at: int, bit: int) -> None:
    keyring: Any = FixedKeyring({OLD: bytes(range(32))})
    sealed = bytearray(Sealing(NAME, keyring).seal(text.encode()))
    sealed[at % len(sealed)] ^= 1 << bit
    with pytest.raises((NotSealedError, CannotOpenError, UnknownKeyError)):
        opening_of(keyring).open(bytes(sealed))


def test_a_key_that_the_keyring_gives_up_opens_nothing_from_then_on(keyring: FixedKeyring) -> None:
    opening = opening_of(keyring)
    sealed = Sealing(NAME, keyring).seal(b"x")  # type: ignore[arg-type]
    assert opening.open(sealed) == "x"
    keyring.destroy(OLD)
    for _ in range(2):
        with pytest.raises(DestroyedKeyError, match=OLD.hex()) as raised:
            opening.open(sealed)
        assert raised.value.__context__ is None


def test_a_key_that_is_unwrapped_again_opens_as_before(keyring: FixedKeyring) -> None:
    opening = opening_of(keyring)
    sealed = Sealing(NAME, keyring).seal(b"x")  # type: ignore[arg-type]
    assert opening.open(sealed) == "x"
    keyring.unwrap_again()
    assert opening.open(sealed) == "x"


def test_what_the_keyring_says_about_its_own_state_is_not_blamed_on_the_value(keyring: FixedKeyring) -> None:
    opening = opening_of(keyring)
    sealed = Sealing(NAME, keyring).seal(b"x")  # type: ignore[arg-type]

    def expired(*_: object) -> Any:
        raise LeaseExpiredError("not now")

    keyring.unwrap_again()
    opening._lease = expired
    with pytest.raises(LeaseExpiredError):
        opening.open(sealed)


def test_each_generation_is_opened_by_its_own_definition(keyring: FixedKeyring) -> None:
    later = replace(NAME, codec="bytes/1", generation=1)
    old: Any = Sealing(NAME, keyring).seal(b"x")  # type: ignore[arg-type]
    new: Any = Sealing(later, keyring).seal(b"x")  # type: ignore[arg-type]
    opening = opening_of(keyring, later, NAME)
    assert [opening.open(old), opening.open(new)] == ["x", b"x"]


def test_authentic_bytes_that_do_not_decode_are_an_error_without_the_bytes(keyring: FixedKeyring) -> None:
    sealed = Sealing(NAME, keyring).seal(b"secret\xff")  # type: ignore[arg-type]
    opening = opening_of(keyring)
    for _ in range(2):
        with pytest.raises(CannotOpenError) as raised:
            opening.open(sealed)
        assert raised.value.__context__ is None
        assert raised.value.__cause__ is None


def test_openers_of_a_child_are_its_own(keyring: FixedKeyring) -> None:
    opening = opening_of(keyring)
    opening.open(Sealing(NAME, keyring).seal(b"x"))  # type: ignore[arg-type]
    opening.forget_after_fork()
    assert not opening.openers
