from pathlib import Path

import pytest

from kms import KeyFileError
from tests.vault.projects import make_project
from vault.budgets import declare_budgets
from vault.cli.options import local_key_file, open_project, provider_settings, read_passphrase
from vault.errors import PolicyError
from vault.opened_ledger import open_ledger


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


@pytest.mark.parametrize("product", ["VAULT", "BAO"])
def test_a_client_certificate_comes_from_the_variables_of_either_product(
    monkeypatch: pytest.MonkeyPatch, product: str
) -> None:
    for name in ("CLIENT_CERT", "CLIENT_KEY"):
        monkeypatch.delenv(f"VAULT_{name}", raising=False)
        monkeypatch.delenv(f"BAO_{name}", raising=False)
    assert provider_settings().client_cert is None
    monkeypatch.setenv(f"{product}_CLIENT_KEY", "client.key")
    with pytest.raises(PolicyError, match="set VAULT_CLIENT_CERT too"):
        provider_settings()
    monkeypatch.setenv(f"{product}_CLIENT_CERT", "client.crt")
    settings = provider_settings()
    assert (settings.client_cert, settings.client_key) == ("client.crt", "client.key")


def test_an_endpoint_of_aws_is_passed_on_and_that_of_kms_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_KMS", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "")
    assert provider_settings().aws_endpoint is None
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://aws.example.org")
    assert provider_settings().aws_endpoint == "https://aws.example.org"
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", "https://kms.example.org")
    assert provider_settings().aws_endpoint == "https://kms.example.org"


def test_how_long_a_key_service_is_waited_for_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOISEVAULT_KEY_DEADLINE", raising=False)
    assert provider_settings().deadline == 5
    monkeypatch.setenv("NOISEVAULT_KEY_DEADLINE", "600")
    assert provider_settings().deadline == 600
    for wrong in ("ten", "0", "nan", "1e9"):
        monkeypatch.setenv("NOISEVAULT_KEY_DEADLINE", wrong)
        with pytest.raises(PolicyError, match="number of seconds"):
            provider_settings()


def test_a_project_opens_by_its_policy_file(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with pytest.raises(PolicyError, match=r"ledger\.db.*noisevault init"), open_project(tmp_path / "noisevault.toml"):
        pass
    declare_budgets(open_ledger(project.policy, project.opened.keyring), project.policy)
    with open_project(tmp_path / "noisevault.toml") as opened:
        assert set(opened.tables) == {"visit"}
    with pytest.raises(PolicyError), open_project(tmp_path / "nobody.toml"):
        pass


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


def test_k10_04_a_byte_order_mark_is_no_part_of_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "passphrase"
    file.write_bytes(b"\xef\xbb\xbfcorrect horse battery\r\n")
    file.chmod(0o600)
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(file))
    assert read_passphrase().reveal() == "correct horse battery"


@pytest.mark.parametrize("kek", ["local:kek", "LOCAL:kek", " local:kek\n"])
def test_k10_04_a_key_file_is_one_however_its_uri_is_written(kek: str) -> None:
    assert local_key_file(kek) == Path("kek")
    assert local_key_file(kek.replace(":kek", ":")) is None


def test_a_key_in_a_service_has_no_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(tmp_path / "missing"))
    assert provider_settings("hcvault://vault.example.org/transit/keys/main").passphrase is None
    assert local_key_file("hcvault://x") is None
    assert local_key_file("local:/etc/kek") == Path("/etc/kek")
