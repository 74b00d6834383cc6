"""A refused key is not asked for again for some seconds, unless its wrapped bytes are others by then."""

import os
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyVersionRetiredError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
    UnknownKeyIdError,
)
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.new_key import new_key
from kms.refusals import Refusals, anew
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider


def record(key_id: bytes = b"aaaa") -> KeyRecord:
    return new_key(
        ScriptedProvider(),
        keyring_id=bytes(16),
        purpose=Purpose.DATA,
        key_id=key_id,
        sequence=1,
        state=KeyState.ACTIVE,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        random=os.urandom,
    )


@pytest.mark.parametrize(
    "kind", [AccessDeniedError, CannotUnwrapError, KeyDisabledError, KeyNotFoundError, KeyVersionRetiredError]
)
def test_a_refusal_is_remembered_for_five_seconds_and_alone(clock: ManualClock, kind: type[KmsError]) -> None:
    refusals, one, other = Refusals(clock), record(), record(b"bbbb")
    refusals.remember(one, kind("no"))
    clock.advance(4.9)
    found = refusals.find(one)
    assert (type(found), str(found)) == (kind, "no")
    assert refusals.find(other) is None
    clock.advance(0.1)
    assert refusals.find(one) is None


@pytest.mark.parametrize("kind", [UnavailableError, LoginExpiredError, MisconfiguredError])
def test_what_is_not_about_the_key_is_not_remembered(clock: ManualClock, kind: type[KmsError]) -> None:
    refusals, one = Refusals(clock), record()
    refusals.remember(one, kind("no"))
    assert refusals.find(one) is None


def test_other_wrapped_bytes_were_not_refused(clock: ManualClock) -> None:
    refusals, one = Refusals(clock), record()
    refusals.remember(one, CannotUnwrapError("no"))
    assert one.wrapped is not None
    rewrapped = replace(one, wrapped=replace(one.wrapped, ciphertext=b"other"))
    assert refusals.find(rewrapped) is None


def test_a_key_that_opens_after_all_and_a_child_begin_anew(clock: ManualClock) -> None:
    refusals, one, other = Refusals(clock), record(), record(b"bbbb")
    for refused in (one, other):
        refusals.remember(refused, CannotUnwrapError("no"))
    refusals.withdraw(one.key_id)
    assert refusals.find(one) is None
    assert refusals.find(other) is not None
    refusals.forget()
    assert refusals.find(other) is None


def test_an_error_made_anew_holds_no_frame() -> None:
    with pytest.raises(UnknownKeyIdError) as caught:
        raise UnknownKeyIdError("main", b"aaaa", "data")
    fresh = anew(caught.value)
    assert (type(fresh), str(fresh), vars(fresh)) == (UnknownKeyIdError, str(caught.value), vars(caught.value))
    assert fresh.__traceback__ is None
    assert fresh.__context__ is None
