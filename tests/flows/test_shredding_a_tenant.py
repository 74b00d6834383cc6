"""A tenant with a Transit key of its own, from its first row to the day when nobody can open anything."""

from pathlib import Path

import pytest

from tests.kms.providers.transit import Transit
from tests.vault.cli.conftest import Run


@pytest.mark.openbao
def test_a_tenant_with_a_transit_key_of_its_own_is_crypto_shredded(
    loaded: Run, transit: Transit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", transit.server.root_token)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    policy = tmp_path / "noisevault.toml"
    policy.write_text(
        policy.read_text()
        .replace("local:kek", transit.uri())
        .replace("keys.db", "keys2.db")
        .replace("application.db", "application2.db")
        .replace("ledger.db", "ledger2.db")
    )
    assert loaded("init").status == 0
    assert loaded("import", "visits.csv").status == 0
    words = ("keys", "shred", "--confirm", "main", "--destroy-kek")
    guarded = loaded(*words)
    assert (guarded.status, guarded.out) == (1, "")
    assert "nothing was erased" in guarded.err
    assert "deletion_allowed=true" in guarded.err
    assert loaded("check").status == 0
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"deletion_allowed": True})
    for erased in (3, 0):
        done = loaded(*words)
        assert done.status == 0, done.err
        assert f"keyring main: {erased} keys erased" in done.out
        assert f"{transit.uri()}: destroyed for good on" in done.out
        assert "\ncrypto-shredded: in effect from" in done.out
    assert loaded("show").status == 1
