"""maintain: what is due is done and told, what is not is left alone, and the exit status says how it ended."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.servers.openbao import BaoDev
from tests.vault.cli.conftest import CSV, Run
from tests.vault.cli.maintained import declare, due, told
from tests.vault.cli.test_ending_keys import rest
from tests.vault.cli.test_metrics_writing import names
from tests.vault.cli.test_rotating import pass_time, states
from tests.vault.projects import write_policy


def test_a_key_goes_through_its_life_run_by_run(loaded: Run, tmp_path: Path) -> None:
    declare(tmp_path, 'rotate_after = "90d"', "retire = true")
    assert told(loaded) == [("verify", "done")]
    pass_time(tmp_path, 91)
    assert told(loaded) == [("rotate", "done"), ("events", "done")]
    assert states(loaded) == ["deactivated", "active"]
    assert told(loaded) == [("", "nothing")], "services may seal by the older key still"
    rest(tmp_path)
    declare(tmp_path, "retire = true")
    assert told(loaded) == [("reencrypt", "done"), ("retire", "done"), ("events", "done")]
    assert states(loaded) == ["retired", "active"]
    assert told(loaded) == [("", "nothing")]
    assert "asthma" in loaded("show").out


def test_a_dry_run_says_what_is_due_and_writes_nothing(loaded: Run, tmp_path: Path) -> None:
    declare(tmp_path, 'rotate_after = "90d"', 'audit_head = "head.json"')
    pass_time(tmp_path, 91)
    before = {path.name: tables(path) for path in tmp_path.glob("*.db")}
    assert due(loaded) == ["rotate", "verify", "events", "audit-head"]
    assert {path.name: tables(path) for path in tmp_path.glob("*.db")} == before
    assert not (tmp_path / "head.json").exists()
    assert states(loaded) == ["active"]
    assert "rotate is due: data key" in loaded("maintain", "--dry-run").out


def tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return sorted(connection.iterdump())


def test_with_nothing_due_it_says_so(loaded: Run) -> None:
    loaded("maintain")
    ended = loaded("maintain")
    assert (ended.status, ended.out, ended.err) == (0, "nothing is due, nothing was changed\n", "")


def test_rows_that_fail_give_3_and_are_counted_in_the_metrics(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "application.db")) as connection, connection:
        connection.execute("UPDATE visit SET diagnosis = zeroblob(40) WHERE person = 2")
    ended = loaded("maintain", "--metrics", "a.prom")
    assert (ended.status, "1 fail" in ended.out) == (3, True)
    text = (tmp_path / "a.prom").read_text()
    assert 'noisevault_maintenance_failures_total{keyring="main",step="verify",scope="visit"} 1' in text
    assert 'noisevault_maintenance_last_run_failed{keyring="main",step="maintain",scope=""} 1' in text
    assert "noisevault_key_rows" in names(tmp_path / "a.prom")


def test_what_does_not_fit_the_window_is_left_for_a_later_one_with_4(loaded: Run) -> None:
    ended = loaded("maintain", "--for", "5s")
    assert (ended.status, "verify visit: postponed" in ended.out) == (4, True)
    assert loaded("maintain", "--for", "1h").status == 0


@pytest.mark.parametrize("words", [("--for", "2"), ("--for", "soon"), ("--often",)])
def test_words_that_are_off_have_status_2(loaded: Run, words: tuple[str, ...]) -> None:
    assert loaded("maintain", *words).status == 2


@pytest.mark.openbao
def test_k11_10_a_kek_that_was_rotated_twice_is_followed_before_its_old_versions_go(
    bao: BaoDev, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run rewraps, so that the minimum is raised without harm; without it the failure says what to run."""
    client = bao.client()
    client.sys.enable_secrets_engine("transit", path="maintain-transit")
    key = "maintain-transit/keys/records"
    client.write_data(key, data={"derived": True})
    policy = write_policy(tmp_path)
    policy.write_text(policy.read_text().replace("local:kek", f"hcvault://{urlsplit(bao.url).netloc}/{key}"))
    (tmp_path / "visits.csv").write_text(CSV)
    monkeypatch.setenv("VAULT_TOKEN", bao.root_token)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    assert told(run) == [("verify", "done")]
    for _ in range(2):
        client.write_data(f"{key}/rotate", data={})
    assert "asthma" in run("find", "national_id", "111").out
    assert due(run) == ["rewrap"]
    assert told(run) == [("rewrap", "done"), ("events", "done")]
    assert told(run) == [("", "nothing")]
    client.write_data(f"{key}/config", data={"min_decryption_version": 3})
    assert "asthma" in run("find", "national_id", "111").out
    client.write_data(f"{key}/rotate", data={})
    client.write_data(f"{key}/config", data={"min_decryption_version": 4})
    refused = run("maintain")
    assert refused.status == 1
    assert "too old" in refused.out + refused.err
    assert "`noisevault keys rewrap`" in refused.out + refused.err
    client.adapter.close()


def test_a_window_that_is_over_before_anything_was_looked_at_is_told(loaded: Run) -> None:
    ended = loaded("maintain", "--for", "0s")
    assert (ended.status, ended.err) == (4, "")
    assert ended.out.startswith("stopped before anything was looked at")
    assert told(loaded, "--for", "0s") == [("", "stopped")]
    assert due(loaded) == ["verify"], "what is due was not said to be nothing"


def test_events_are_lines_of_json(loaded: Run) -> None:
    events = [json.loads(line)["event"] for line in loaded("maintain", "--json").out.splitlines()]
    assert events[-1] == "maintenance"
    assert {"began", "verified"} <= set(events)
