"""keys kek-versions: what an operator is told of versions that wrap no key any more."""

import json
from dataclasses import replace
from pathlib import Path

from kms import KeyStore
from kms.kek_versions import KekVersionUse
from tests.vault.cli.conftest import Run


def test_each_version_is_told_with_what_it_wraps_and_when_it_may_go(loaded: Run, tmp_path: Path) -> None:
    told = loaded("keys", "kek-versions")
    assert (told.status, told.err) == (0, "")
    assert "wraps 3 keys" in told.out
    assert "does not declare backup_retention: backups of the key store are taken to be kept for 30d" in told.out
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    (state,) = store.load_all()
    changes = []
    for record in state.records:
        assert record.wrapped is not None
        changes.append((record, replace(record.wrapped, ciphertext=record.wrapped.ciphertext + b"+", kek_version="2")))
    store.replace_wrapped(changes)
    first: KekVersionUse = store.kek_versions()[0]
    store.close()
    policy = tmp_path / "noisevault.toml"
    policy.write_text(policy.read_text().replace('kek = "local', 'backup_retention = "35d"\nkek = "local'))
    told = loaded("keys", "kek-versions")
    assert "wraps no key since" in told.out
    assert "may be given up from" in told.out
    assert "are kept for 35d, as the policy declares" in told.out
    rows = json.loads(loaded("keys", "kek-versions", "--json").out)
    assert [(row["kek_version"], row["wraps"]) for row in rows] == [(first.version, 0), ("2", 3)]
    assert rows[0]["free_from"] > rows[0]["left_at"] > ""
