from pathlib import Path

import pytest

from tests.vault.projects import make_project
from vault.bridge import declare_budgets, open_ledger
from vault.cli.options import open_project, provider_settings
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
