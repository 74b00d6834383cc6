"""PKCS#11 failures: which of our errors a module's return code means, and after which of them to start anew."""

from typing import Final

from pkcs11 import exceptions as p11

from kms.errors import (
    AccessDeniedError,
    KeyNotFoundError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
)

__all__ = ["error_for", "is_lost", "may_be_tampered"]

_EXCEPTIONS: Final[tuple[tuple[tuple[type[p11.PKCS11Error], ...], type[KmsError], str], ...]] = (
    (
        (p11.PinIncorrect, p11.PinInvalid, p11.PinLenRange),
        AccessDeniedError,
        "the token refuses the PIN for {key}: it is not tried again, lest the token lock; correct it",
    ),
    ((p11.PinLocked,), AccessDeniedError, "the PIN of the token of {key} is locked: its security officer unlocks it"),
    ((p11.PinExpired,), LoginExpiredError, "the PIN of the token of {key} has expired: set a new one"),
    ((p11.UserNotLoggedIn,), LoginExpiredError, "the token of {key} does not know our login any more"),
    ((p11.UserPinNotInitialized,), MisconfiguredError, "the token of {key} has no user PIN yet: set one"),
    (
        (p11.AnotherUserAlreadyLoggedIn, p11.UserTooManyTypes),
        MisconfiguredError,
        "another user is logged in to the token of {key} in this process",
    ),
    (
        (p11.NoSuchToken,),
        MisconfiguredError,
        "there is no token for {key}: check token= and the module's configuration",
    ),
    ((p11.MultipleTokensReturned,), MisconfiguredError, "several tokens fit {key}: add serial="),
    ((p11.NoSuchKey,), KeyNotFoundError, "the token has no AES key {key}: make it, or check object= and id="),
    ((p11.MultipleObjectsReturned,), MisconfiguredError, "several keys fit {key}: add id="),
    (
        (
            p11.MechanismInvalid,
            p11.MechanismParamInvalid,
            p11.FunctionNotSupported,
            p11.KeyTypeInconsistent,
            p11.KeySizeRange,
        ),
        MisconfiguredError,
        "the token cannot use {key} with AES-GCM, a 96-bit IV and associated data",
    ),
    (
        (p11.AttributeTypeInvalid,),
        MisconfiguredError,
        "the token does not tell whether {key} can be read out, so it is not used",
    ),
    (
        (p11.DeviceRemoved, p11.TokenNotPresent, p11.TokenNotRecognised, p11.SlotIDInvalid),
        UnavailableError,
        "the token of {key} is not there any more",
    ),
)
# What a change of the ciphertext or the context looks like; CKR_GENERAL_ERROR in SoftHSM, which can mean anything.
_MAY_BE_TAMPERED: Final = (
    p11.EncryptedDataInvalid,
    p11.EncryptedDataLenRange,
    p11.DataInvalid,
    p11.DataLenRange,
    p11.ArgumentsBad,
    p11.FunctionFailed,
    p11.GeneralError,
)
# The session, the login, the handle or the whole token went away; a new session may find them again.
_LOST: Final = (
    p11.DeviceError,
    p11.DeviceRemoved,
    p11.FunctionFailed,
    p11.GeneralError,
    p11.KeyHandleInvalid,
    p11.NoSuchToken,
    p11.ObjectHandleInvalid,
    p11.SessionClosed,
    p11.SessionHandleInvalid,
    p11.SlotIDInvalid,
    p11.TokenNotPresent,
    p11.TokenNotRecognised,
    p11.UserNotLoggedIn,
)


def error_for(raised: p11.PKCS11Error, key: str, *, was_there: bool = False) -> KmsError:
    """Our error for what the module returned. was_there: the token had answered before, so it was taken away."""
    if was_there and isinstance(raised, p11.NoSuchToken):
        return UnavailableError(f"the token of {key} is not there any more (NoSuchToken)")
    for kinds, error, advice in _EXCEPTIONS:
        if isinstance(raised, kinds):
            return error(f"{advice.format(key=key)} ({type(raised).__name__})")
    return UnavailableError(f"the token of {key} is failing ({type(raised).__name__})")


def is_lost(raised: p11.PKCS11Error) -> bool:
    """Whether to look for the token, log in and find the key once more. A bare PKCS11Error is a code without a name,
    such as "not initialised".
    """
    return isinstance(raised, _LOST) or type(raised) is p11.PKCS11Error


def may_be_tampered(raised: p11.PKCS11Error) -> bool:
    """Whether this answer to a decryption can be the ciphertext's fault; then the key is tried on something else.

    CKR_AEAD_DECRYPT_FAILED of PKCS#11 3.0 arrives as a bare PKCS11Error.
    """
    return isinstance(raised, _MAY_BE_TAMPERED) or type(raised) is p11.PKCS11Error
