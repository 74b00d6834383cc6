"""A refused login says what to check; what is no refusal of the login is left to the general table."""

import hvac.exceptions as hv
import pytest
import requests

from kms.errors import AccessDeniedError, KeyFileError, KmsError, LoginExpiredError, MisconfiguredError
from kms.logins.login_failures import login_error


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (hv.InvalidRequest("invalid role or secret ID"), AccessDeniedError),
        (hv.InvalidRequest("error validating token: hunter2"), AccessDeniedError),
        (hv.Forbidden("permission denied"), AccessDeniedError),
        (hv.InvalidRequest("wrapping token is not valid or does not exist"), LoginExpiredError),
        (hv.InvalidPath("no handler for route hunter2"), MisconfiguredError),
    ],
)
def test_a_refusal_is_told_without_the_servers_words(raised: Exception, error: type[KmsError]) -> None:
    told = login_error(raised, "hcvault://here", "check the role")
    assert type(told) is error
    assert "hcvault://here" in str(told)
    assert "hunter2" not in str(told)
    assert error is LoginExpiredError or "check the role" in str(told)


@pytest.mark.parametrize(
    "raised",
    [
        hv.VaultDown("Vault is sealed"),
        hv.InternalServerError("internal error"),
        hv.InvalidRequest("Client sent an HTTP request to an HTTPS server."),
        requests.exceptions.ConnectionError(),
        KeyError("auth"),
    ],
)
def test_what_is_no_refusal_means_what_it_always_means(raised: Exception) -> None:
    assert login_error(raised, "hcvault://here", "check the role") is None


def test_our_own_errors_stay_what_they_are() -> None:
    error = KeyFileError("the token file t is open to others")
    assert login_error(error, "hcvault://here", "check") is error
