"""Login failures: which of our errors a refused login means, where it differs from a refused use of a key."""

from typing import Final

import hvac.exceptions as hv

from kms.errors import AccessDeniedError, KmsError, LoginExpiredError, MisconfiguredError

__all__ = ["login_error"]

WRAPPING_USED: Final = "wrapping token is not valid or does not exist"
NOT_MOUNTED: Final = "no handler for route"
PLAIN_HTTP: Final = "Client sent an HTTP request to an HTTPS server"
NO_NAMESPACE: Final = "namespace not found"


def login_error(raised: Exception, place: str, advice: str) -> KmsError | None:
    """Our error, or None where it is no refusal and means what it means for any request.

    place: the key that the login is for. advice: what to check.
    """
    if isinstance(raised, KmsError):
        return raised
    text = str(raised)
    if isinstance(raised, hv.InvalidRequest) and WRAPPING_USED in text:
        return LoginExpiredError(
            f"the wrapping token of the login for {place} has expired or was used: if not by this program, revoke the"
            " secret id that was in it; then make a new one"
        )
    if isinstance(raised, hv.InvalidPath) and NOT_MOUNTED in text:
        return MisconfiguredError(f"no auth method is mounted where the login for {place} is sent: {advice}")
    if isinstance(raised, hv.InvalidRequest) and (PLAIN_HTTP in text or NO_NAMESPACE in text):
        return None
    if isinstance(raised, hv.InvalidRequest | hv.Forbidden | hv.Unauthorized):
        return AccessDeniedError(f"the login for {place} is refused: {advice}")
    return None
