"""AWS failures: what KMS, STS and botocore say, and what it means for an operator."""

import re
from typing import Final

import botocore.exceptions as bc

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
)

__all__ = ["error_for_exception"]

_THROTTLED: Final = (UnavailableError, "AWS KMS answers too many requests of this account to serve {kek}")
_FAILING: Final = (UnavailableError, "AWS KMS is failing for {kek}")
_LOGIN: Final = (LoginExpiredError, "the AWS credentials for {kek} are expired or wrong: renew them, check the clock")
_DENIED: Final = (AccessDeniedError, "the policies of this login and of the key do not allow what was asked of {kek}")
_REFUSED: Final = (MisconfiguredError, "AWS KMS refuses the request to {kek}")

# e.response["Error"]["Code"]: most of these have no class of their own in boto3.
_CODES: Final[dict[str, tuple[type[KmsError], str]]] = {
    "ThrottlingException": _THROTTLED,
    "Throttling": _THROTTLED,
    "ThrottledException": _THROTTLED,
    "RequestThrottled": _THROTTLED,
    "RequestThrottledException": _THROTTLED,
    "RequestLimitExceeded": _THROTTLED,
    "TooManyRequestsException": _THROTTLED,
    "SlowDown": _THROTTLED,
    "DependencyTimeoutException": _FAILING,
    "KeyUnavailableException": _FAILING,
    "KMSInternalException": _FAILING,
    "InternalFailure": _FAILING,
    "InternalError": _FAILING,
    "ServiceUnavailable": _FAILING,
    "ServiceUnavailableException": _FAILING,
    "RequestTimeout": _FAILING,
    "RequestTimeoutException": _FAILING,
    "IDPCommunicationError": _FAILING,  # STS could not reach the identity provider of a web identity
    "ExpiredTokenException": _LOGIN,
    "ExpiredToken": _LOGIN,
    "RequestExpired": _LOGIN,
    "UnrecognizedClientException": _LOGIN,
    "InvalidClientTokenId": _LOGIN,
    "InvalidIdentityToken": _LOGIN,
    "InvalidSignatureException": _LOGIN,
    "SignatureDoesNotMatch": _LOGIN,
    "IncompleteSignature": _LOGIN,
    "IncompleteSignatureException": _LOGIN,
    "MissingAuthenticationToken": _LOGIN,
    "MissingAuthenticationTokenException": _LOGIN,
    "AccessDeniedException": _DENIED,
    "AccessDenied": _DENIED,
    "NotAuthorizedException": _DENIED,
    "UnauthorizedOperation": _DENIED,
    "IDPRejectedClaim": _DENIED,
    "InvalidGrantTokenException": _DENIED,
    "NotFoundException": (KeyNotFoundError, "{kek} does not exist in this region and account"),
    "DisabledException": (KeyDisabledError, "{kek} is disabled: enable it"),
    "KMSInvalidStateException": (
        KeyDisabledError,
        "{kek} waits for its deletion, or its key material or key store is not there: restore it",
    ),
    "InvalidCiphertextException": (
        CannotUnwrapError,
        "a wrapped key does not authenticate under {kek}: its row was changed or moved, restore it from a backup",
    ),
    "IncorrectKeyException": (CannotUnwrapError, "a wrapped key is not of {kek}, as its row says: its row was changed"),
    "InvalidKeyUsageException": (MisconfiguredError, "{kek} cannot wrap keys: use a symmetric encryption key"),
    "OptInRequired": (MisconfiguredError, "the account of {kek} has not enabled this region"),
}

# In this order: SSLError is a ConnectionError, the login errors are no HTTP errors, and all but ClientError end here.
_EXCEPTIONS: Final[tuple[tuple[tuple[type[Exception], ...], type[KmsError], str], ...]] = (
    ((bc.SSLError,), MisconfiguredError, "the TLS certificate of the endpoint of {kek} is not trusted"),
    (
        (bc.HTTPClientError, bc.ConnectionError, bc.IncompleteReadError),
        UnavailableError,
        "the endpoint of {kek} does not answer",
    ),
    (
        (bc.CredentialRetrievalError, bc.MetadataRetrievalError),
        UnavailableError,
        "what gives out AWS credentials for {kek} does not answer",
    ),
    (
        (bc.NoCredentialsError, bc.NoAuthTokenError, bc.TokenRetrievalError, bc.SSOError, bc.LoginError),
        LoginExpiredError,
        "there are no AWS credentials for {kek}: log in, or give this process a role",
    ),
    ((bc.BotoCoreError,), MisconfiguredError, "the AWS settings of this machine cannot be used for {kek}"),
)
_CODE: Final = re.compile(r"[A-Za-z0-9.]{1,60}")
FORBIDDEN: Final = 403
TOO_MANY_REQUESTS: Final = 429
FIRST_SERVER_ERROR: Final = 500


def error_for_exception(raised: Exception, kek: str) -> KmsError:
    """Our error for what boto3 raised; to be raised where nothing of `raised` is kept as its context."""
    if isinstance(raised, bc.ClientError):
        return _error_for_answer(raised.response, kek)
    for kinds, error, advice in _EXCEPTIONS:
        if isinstance(raised, kinds):
            return error(f"{advice.format(kek=kek)} ({type(raised).__name__})")
    return UnavailableError(f"the endpoint of {kek} gave no proper answer ({type(raised).__name__})")


def _error_for_answer(response: dict[str, dict[str, object]], kek: str) -> KmsError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _CODES:
        error, advice = _CODES[code]
    elif isinstance(status, int) and status >= FIRST_SERVER_ERROR:
        error, advice = _FAILING
    elif status == TOO_MANY_REQUESTS:
        error, advice = _THROTTLED
    elif status == FORBIDDEN:  # a gateway in between, or a code that is new
        error, advice = _DENIED
    else:
        error, advice = _REFUSED
    shown = code if _CODE.fullmatch(code) else f"HTTP {status}"
    return error(f"{advice.format(kek=kek)} ({shown})")
