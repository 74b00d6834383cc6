"""What the client would send, and to whom, is settled by the settings alone."""

from pathlib import Path
from typing import Any

import hvac
import pytest

from kms.provider_settings import ProviderSettings
from kms.providers.hcvault_address import TransitAddress
from kms.providers.hcvault_client import connect, open_session
from kms.secret import SecretText
from tests.servers.authority import Authority

ADDRESS = TransitAddress.parse("hcvault://vault.example.org/transit/keys/k")


@pytest.fixture
def ambient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everything that hvac and requests would help themselves to."""
    (tmp_path / ".vault-token").write_text("ambient")
    (tmp_path / ".netrc").write_text("machine vault.example.org login ambient password ambient\n")
    for name in ("VAULT_TOKEN", "VAULT_ADDR", "VAULT_CACERT", "REQUESTS_CA_BUNDLE", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "https://ambient.example.org")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("VAULT_CAPATH", "VAULT_CACERT", "VAULT_CLIENT_CERT", "VAULT_CLIENT_KEY"):
        monkeypatch.setattr(f"hvac.v1.{name}", "ambient")


def client_of(settings: ProviderSettings, token: str) -> hvac.Client:
    return connect(ADDRESS, settings, SecretText(token), open_session(ADDRESS, settings))


def request_of(client: hvac.Client, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, dict[str, Any]]:
    sent: list[tuple[Any, dict[str, Any]]] = []

    class SentError(Exception):
        pass

    def send(self: object, request: Any, **options: Any) -> None:
        sent.append((request, options))
        raise SentError

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)
    with pytest.raises(SentError):
        client.read("transit/keys/k")
    return sent[0]


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("token", ["s.ours", ""])
def test_nothing_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    client = client_of(ProviderSettings(timeout=3), token)
    request, options = request_of(client, monkeypatch)
    assert request.url == "https://vault.example.org:8200/v1/transit/keys/k"
    assert request.headers.get("X-Vault-Token", "") == token
    assert "Authorization" not in request.headers
    assert options["timeout"] == 3
    assert options["verify"] is True
    assert not options["cert"]
    assert not options["proxies"]


def test_the_settings_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ca_file = str(Authority(tmp_path).ca)
    settings = ProviderSettings(namespace="tenants/one", ca_file=ca_file)
    request, options = request_of(client_of(settings, "t"), monkeypatch)
    assert request.headers["X-Vault-Namespace"] == "tenants/one"
    assert options["verify"] == ca_file
