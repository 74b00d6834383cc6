"""A module's return code becomes one of our errors, whatever it is, and none is passed on."""

import inspect

import pytest
from pkcs11 import exceptions as p11

from kms.errors import (
    AccessDeniedError,
    KeyNotFoundError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
)
from kms.providers.pkcs11_failures import error_for, is_lost, may_be_tampered

ALL = [kind for _, kind in inspect.getmembers(p11, inspect.isclass) if issubclass(kind, p11.PKCS11Error)]


@pytest.mark.parametrize(
    ("kinds", "error"),
    [
        ((p11.PinIncorrect, p11.PinInvalid, p11.PinLenRange, p11.PinLocked), AccessDeniedError),
        ((p11.PinExpired, p11.UserNotLoggedIn), LoginExpiredError),
        ((p11.NoSuchKey,), KeyNotFoundError),
        ((p11.NoSuchToken, p11.MultipleTokensReturned, p11.MultipleObjectsReturned), MisconfiguredError),
        ((p11.MechanismInvalid, p11.FunctionNotSupported, p11.UserPinNotInitialized), MisconfiguredError),
        ((p11.DeviceRemoved, p11.TokenNotPresent, p11.SessionHandleInvalid, p11.SessionClosed), UnavailableError),
        ((p11.DeviceError, p11.DeviceMemory, p11.HostMemory, p11.GeneralError, p11.SessionCount), UnavailableError),
    ],
)
def test_each_means_one_of_our_errors(kinds: tuple[type[p11.PKCS11Error], ...], error: type[KmsError]) -> None:
    assert [type(error_for(kind(), "KEY")) for kind in kinds] == [error] * len(kinds)


@pytest.mark.parametrize("kind", ALL)
def test_every_code_has_an_error_that_names_key_and_code_and_nothing_else(kind: type[p11.PKCS11Error]) -> None:
    said = str(error_for(kind("the module's own text"), "pkcs11:token=t;object=k"))
    assert "pkcs11:token=t;object=k" in said
    assert kind.__name__ in said
    assert "own text" not in said


def test_a_token_that_had_answered_is_away_and_not_misnamed() -> None:
    assert isinstance(error_for(p11.NoSuchToken(), "KEY", was_there=True), UnavailableError)
    assert isinstance(error_for(p11.NoSuchKey(), "KEY", was_there=True), KeyNotFoundError)


def test_no_refusal_is_tried_again() -> None:
    """A second login with a wrong PIN brings the token nearer to its lock."""
    again = {kind for kind in ALL if is_lost(kind())}
    assert not {kind for kind in again if issubclass(kind, p11.PinIncorrect | p11.PinLocked | p11.PinExpired)}
    assert {p11.SessionHandleInvalid, p11.DeviceRemoved, p11.UserNotLoggedIn, p11.PKCS11Error} < again
    assert not is_lost(p11.NoSuchKey())


def test_a_lost_session_is_no_tampering() -> None:
    assert may_be_tampered(p11.GeneralError())
    assert may_be_tampered(p11.EncryptedDataInvalid())
    assert not may_be_tampered(p11.SessionHandleInvalid())
    assert not may_be_tampered(p11.DeviceRemoved())
