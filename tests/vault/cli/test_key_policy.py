"""The command that prints policies, and what the command line does under them on a real OpenBao."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import hvac
import pytest

from tests.kms.providers.transit import Transit, transit_on
from tests.servers.openbao import BaoDev
from tests.vault.cli.conftest import CSV, Run
from tests.vault.projects import write_policy


@pytest.fixture
def transit(bao: BaoDev) -> Iterator[Transit]:
    with transit_on(bao, f"team/{secrets.token_hex(4)}/transit") as transit:
        transit.create()
        yield transit


@pytest.fixture
def as_role(transit: Transit, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`noisevault WORDS` in a folder with a policy file, by a token that has what `keys policy --role ROLE` prints."""
    policy = write_policy(tmp_path)
    policy.write_text(policy.read_text().replace("local:kek", transit.uri()))
    (tmp_path / "visits.csv").write_text(CSV, encoding="utf-8")
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    tokens: dict[str, str] = {}

    def as_role(role: str, *words: str):  # type: ignore[no-untyped-def]  # as run
        if role not in tokens:
            printed = run("keys", "policy", "--role", role)
            assert (printed.status, printed.err) == (0, "")
            name = f"{role}-{secrets.token_hex(4)}"
            transit.root.sys.create_or_update_policy(name, printed.out)
            given = transit.root.auth.token.create(policies=[name], no_default_policy=True)
            tokens[role] = given["auth"]["client_token"]
        monkeypatch.setenv("VAULT_TOKEN", tokens[role])
        return run(*words)

    return as_role


@pytest.mark.openbao
def test_each_role_does_its_commands_and_is_denied_the_others(as_role: Run, transit: Transit) -> None:
    for role in ("app", "admin"):
        denied = as_role(role, "init")
        assert (denied.status, denied.err.count("\n")) == (1, 1)
        assert "the policy of this login does not allow" in denied.err
    for words in (["init"], ["rotate"], ["keys", "check"]):
        assert as_role("rotator", *words).status == 0, words
    for words in (["import", "visits.csv"], ["find", "national_id", "11-1"], ["reencrypt"], ["check"]):
        ended = as_role("app", *words)
        assert ended.status == 0, (words, ended.err)
    admin = hvac.Client(url=transit.server.url, token=transit.server.root_token, cert="")
    admin.write_data(f"{transit.mount}/keys/kek/rotate", data={})
    for words in (["rotate"], ["keys", "rewrap"]):
        denied = as_role("app", *words)
        assert denied.status == 1, words
        assert "does not allow" in denied.err
    rewrapped = as_role("rotator", "keys", "rewrap")
    assert "4 of 4 keys rewrapped" in rewrapped.out
    for words in (["show"], ["rotate"], ["keys", "rewrap"], ["keys", "check"]):
        denied = as_role("admin", *words)
        assert denied.status == 1, words
        assert "asthma" not in denied.out


def test_the_key_may_be_another_than_the_policy_files(run: Run) -> None:
    place = "awskms://arn:aws:kms:eu-central-1:123456789012:key/"
    first, second = (f"{place}{n * 8}-1111-1111-1111-{n * 12}" for n in "12")
    printed = run("keys", "policy", "--role", "rotator", "--kek", first, "--kek", second)
    assert printed.status == 0
    resources = json.loads(printed.out)["Statement"][0]["Resource"]
    assert resources == [first.removeprefix("awskms://"), second.removeprefix("awskms://")]


def test_a_key_file_has_no_policy_and_nothing_is_printed_that_could_be_taken_for_one(loaded: Run) -> None:
    refused = loaded("keys", "policy", "--role", "app")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "mode 0600" in refused.err


def test_another_role_is_a_word_that_is_off(run: Run) -> None:
    ended = run("keys", "policy", "--role", "root", "--kek", "hcvault://host/transit/keys/kek")
    assert ended.status == 2


def test_the_namespace_comes_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAO_NAMESPACE", "team-a")
    printed = run("keys", "policy", "--role", "app", "--kek", "hcvault://host/transit/keys/kek")
    assert "-namespace=team-a" in printed.out
