"""A token that somebody else made."""

from typing import Any

import pytest

from kms.errors import LoginExpiredError
from kms.logins.token import Token
from kms.secret import SecretKey, SecretText
from tests.kms.logins.vault_logins import ScriptedServer
from tests.kms.providers.transit import Transit, frames_of


def test_it_is_used_as_it_is_without_a_request() -> None:
    server = ScriptedServer()
    grant = Token(SecretText("s.given")).log_in(server.connect)
    assert grant.token.reveal() == "s.given"
    assert (grant.seconds, grant.renewable, server.asked) == (None, False, [])


def test_plain_text_is_refused() -> None:
    plain: Any = "s.hunter2"
    with pytest.raises(TypeError, match="SecretText") as raised:
        Token(plain)
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(Token(SecretText("s.hunter2")))


@pytest.mark.openbao
def test_one_that_ended_is_an_expired_login(transit: Transit) -> None:
    provider = transit.provider(login=Token(SecretText("s.hunter2")))
    with pytest.raises(LoginExpiredError, match="give a token that is valid") as raised:
        provider.wrap(SecretKey(bytes(32)), b"p")
    assert "hunter2" not in frames_of(raised.value)
