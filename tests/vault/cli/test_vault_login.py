"""A login described by the environment, which the command alone reads."""

from pathlib import Path

import pytest

from kms import KeyFileError, SecretText
from kms.logins import AppRole, Jwt, Kubernetes, Login, TokenFile
from vault.cli.options import provider_settings
from vault.cli.vault_login import vault_login
from vault.errors import PolicyError

HCVAULT = "hcvault://vault.example.org/transit/keys/main"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text("hunter2\n")
    return file


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGIN", "ROLE", "FILE", "MOUNT"):
        monkeypatch.delenv(f"NOISEVAULT_VAULT_{name}", raising=False)
    for name in ("VAULT_TOKEN", "BAO_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def describe(monkeypatch: pytest.MonkeyPatch, **values: object) -> Login | None:
    for name, value in values.items():
        monkeypatch.setenv(f"NOISEVAULT_VAULT_{name.upper()}", str(value))
    return vault_login()


def test_without_variables_there_is_no_login() -> None:
    assert vault_login() is None


def test_each_kind_is_described_by_its_variables(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    assert describe(monkeypatch, login="token-file", file=file) == TokenFile(file)
    assert describe(monkeypatch, login="approle", role="r") == AppRole("r", SecretText("hunter2"))
    assert describe(monkeypatch, login="jwt") == Jwt("r", file)
    assert describe(monkeypatch, login="kubernetes", mount="team/k8s") == Kubernetes("r", file, "team/k8s")


def test_only_a_key_in_vault_gets_the_login(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    describe(monkeypatch, login="token-file", file=file)
    assert provider_settings(HCVAULT).login == TokenFile(file)
    assert provider_settings("awskms://alias/main?region=eu-central-1").login is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"login": "userpass"}, "one of token-file, approle, jwt and kubernetes"),
        ({"login": "token-file"}, "set NOISEVAULT_VAULT_FILE too"),
        ({"login": "jwt", "file": "f"}, "set NOISEVAULT_VAULT_ROLE too"),
        ({"login": "jwt", "file": "f", "role": "r", "mount": "auth/jwt"}, "NOISEVAULT_VAULT_MOUNT.*without 'auth/'"),
    ],
)
def test_half_a_login_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        describe(monkeypatch, **values)


def test_a_token_beside_a_login_is_refused(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setenv("BAO_TOKEN", "s.hunter2")
    with pytest.raises(PolicyError, match="unset VAULT_TOKEN and BAO_TOKEN, or NOISEVAULT_VAULT_LOGIN"):
        describe(monkeypatch, login="token-file", file=file)


def test_a_secret_id_that_others_can_read_is_refused(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    file.chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        describe(monkeypatch, login="approle", role="r", file=file)
