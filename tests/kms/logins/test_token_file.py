"""A token in a file, which an agent writes anew."""

from pathlib import Path

import pytest

from kms.errors import KeyFileError, LoginExpiredError
from kms.logins.token_file import TokenFile
from kms.secret import SecretKey
from tests.kms.logins.vault_logins import ScriptedServer, policy_on
from tests.kms.providers.transit import Transit, frames_of

KEY = SecretKey(bytes(range(32)))


def write(file: Path, token: str, mode: int = 0o600) -> Path:
    file.touch(0o600)
    file.write_text(token + "\n")
    file.chmod(mode)
    return file


def new_token(transit: Transit, policy: str) -> str:
    return str(transit.root.auth.token.create(policies=[policy])["auth"]["client_token"])


@pytest.mark.openbao
def test_a_token_that_the_agent_replaced_is_read_when_the_old_one_is_refused(transit: Transit, tmp_path: Path) -> None:
    policy = policy_on(transit)
    old = new_token(transit, policy)
    file = write(tmp_path / "token", old)
    provider = transit.provider(login=TokenFile(file))
    wrapped = provider.wrap(KEY, b"p")
    write(file, new_token(transit, policy))
    transit.root.auth.token.revoke(old)
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


@pytest.mark.openbao
def test_a_file_with_the_token_that_was_refused_is_no_login(transit: Transit, tmp_path: Path) -> None:
    file = write(tmp_path / "token", "s.hunter2")
    provider = transit.provider(login=TokenFile(file))
    with pytest.raises(LoginExpiredError, match="see to it that the token in") as raised:
        provider.wrap(KEY, b"p")
    assert "hunter2" not in frames_of(raised.value)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "token", "s.hunter2", 0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        TokenFile(file).log_in(ScriptedServer().connect)
