"""`keys list` says whether the key-encryption key answers, and comes whatever it says."""

import json
import secrets
from pathlib import Path

import pytest

from kms.providers.local import create_key_file
from tests.kms.providers.transit import transit_on
from tests.servers.openbao import bao_dev
from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy


def health(run: Run) -> set[str]:
    listed = run("keys", "list", "--json")
    assert (listed.status, listed.err) == (0, "")
    return {key["kek_health"] for key in json.loads(listed.out)}


def test_a_key_file_that_is_there_answers(loaded: Run, tmp_path: Path) -> None:
    assert health(loaded) == {"answers"}
    shown = loaded("keys", "list").out
    assert f"new keys are wrapped by local:{tmp_path / 'kek'}\n" in shown
    (kek,) = {key["kek"] for key in json.loads(loaded("keys", "list", "--json").out)}
    assert f"\n{kek} answers\n" in shown


def test_a_key_file_that_is_gone_or_another_is_told_and_the_list_comes(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "kek").unlink()
    (said,) = health(loaded)
    assert said.startswith("refuses: cannot open the key file")
    create_key_file(tmp_path / "kek")
    (said,) = health(loaded)
    assert said.startswith("refuses: wrapped by local:")
    assert "refuses: wrapped by local:" in loaded("keys", "list").out


def test_keys_are_listed_while_the_database_of_the_data_is_out_of_order(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "application.db").write_bytes(b"no database")
    assert health(loaded) == {"answers"}


@pytest.mark.openbao
def test_a_server_that_is_down_a_wrong_token_and_none_are_told_each(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    policy = write_policy(tmp_path)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    with bao_dev(tmp_path_factory.mktemp("bao")) as server, transit_on(server, "transit") as transit:
        transit.create()
        policy.write_text(policy.read_text().replace("local:kek", transit.uri()))
        monkeypatch.setenv("VAULT_TOKEN", server.root_token)
        assert run("init").status == 0
        assert health(run) == {"answers"}
        decrypt_only = transit.token(("decrypt/kek", "update"))
        monkeypatch.setenv("VAULT_TOKEN", decrypt_only)
        assert health(run) == {"answers"}  # it needs no more than a service may
        monkeypatch.setenv("VAULT_TOKEN", f"s.{secrets.token_hex(12)}")
        (said,) = health(run)
        assert said.startswith("refuses: the token for")
        monkeypatch.delenv("VAULT_TOKEN")
        (said,) = health(run)
        assert said.startswith("refuses: ")
        assert "needs a token or a login" in said
        monkeypatch.setenv("VAULT_TOKEN", server.root_token)
    (said,) = health(run)
    assert said.startswith("does not answer: the ")  # server; or, where the machine is busy, call that took too long
    shown = run("keys", "list")
    assert shown.status == 0
    assert "does not answer: the " in shown.out
    assert shown.out.count(" active ") == 3
