from pathlib import Path

import pytest

from kms import KeyFileError
from tests.vault.projects import make_project
from vault.bridge import declare_budgets, open_ledger
from vault.cli.options import local_key_file, open_project, provider_settings, read_passphrase
from vault.errors import PolicyError


def test_what_the_key_service_needs_comes_from_the_variables_that_its_users_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("VAULT_TOKEN", "VAULT_NAMESPACE", "VAULT_CACERT", "BAO_TOKEN", "BAO_NAMESPACE", "BAO_CACERT"):
        monkeypatch.delenv(name, raising=False)
    assert provider_settings().token is None
    monkeypatch.setenv("BAO_TOKEN", "s.token")
    monkeypatch.setenv("VAULT_NAMESPACE", "team")
    settings = provider_settings()
    assert settings.token is not None
    assert settings.namespace == "team"
    assert "s.token" not in repr(settings)
    assert not settings.allow_plain_http_to_loopback


def test_a_project_opens_by_its_policy_file(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with pytest.raises(PolicyError, match=r"ledger\.db.*noisevault init"):
        open_project(tmp_path / "noisevault.toml")
    declare_budgets(open_ledger(project.policy, project.opened.keyring), project.policy)
    assert set(open_project(tmp_path / "noisevault.toml").tables) == {"visit"}
    with pytest.raises(PolicyError):
        open_project(tmp_path / "nobody.toml")


@pytest.mark.parametrize("content", [b"", b"\n", b"one\ntwo\n", b"\xff"])
def test_a_passphrase_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    file = tmp_path / "passphrase"
    file.touch(0o600)
    file.write_bytes(content)
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(file))
    with pytest.raises(KeyFileError, match="one line of UTF-8"):
        read_passphrase()
    file.write_bytes(" vier Wörter mit Rand \r\n".encode())
    assert read_passphrase().reveal() == " vier Wörter mit Rand "
    file.chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        read_passphrase()


def test_a_key_in_a_service_has_no_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(tmp_path / "missing"))
    assert provider_settings("hcvault://vault.example.org/transit/keys/main").passphrase is None
    assert local_key_file("hcvault://x") is None
    assert local_key_file("local:/etc/kek") == Path("/etc/kek")
