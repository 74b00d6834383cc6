"""Settings hold secrets that cannot be printed, and no request without an end."""

from typing import Any

import pytest

from kms.logins.token import Token
from kms.provider_settings import ProviderSettings
from kms.secret import SecretText


def test_a_token_in_plain_text_is_refused() -> None:
    plain: Any = "s.hunter2"
    with pytest.raises(TypeError, match="SecretText") as raised:
        ProviderSettings(token=plain)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("name", ["passphrase", "pin"])
def test_a_passphrase_or_pin_in_plain_text_is_refused(name: str) -> None:
    plain: Any = {name: "hunter2"}
    with pytest.raises(TypeError, match="SecretText") as raised:
        ProviderSettings(**plain)
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(ProviderSettings(**{name: SecretText("hunter2")}))


@pytest.mark.parametrize("timeout", [0, -1, 61, float("nan"), float("inf")])
def test_a_request_without_an_end_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        ProviderSettings(timeout=timeout)


def test_a_token_and_a_login_together_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        ProviderSettings(token=SecretText("s.hunter2"), login=Token(SecretText("s.hunter2")))


@pytest.mark.parametrize("deadline", [0, -1, 86401, float("nan"), float("inf")])
def test_a_call_without_an_end_is_refused(deadline: float) -> None:
    with pytest.raises(ValueError, match="deadline"):
        ProviderSettings(deadline=deadline)


def test_a_key_of_no_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="give both"):
        ProviderSettings(client_key="client.key")
