"""Two databases with one keyring: a key goes when both are clear of it; one that is no more is forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.vault.cli.conftest import CSV, Run
from tests.vault.cli.test_ending_keys import keys, rest
from tests.vault.cli.test_rotating import pass_time
from tests.vault.projects import POLICY

OTHER = "other/noisevault.toml"


def databases(run: Run, *words: str) -> list[dict[str, Any]]:
    listed = run("keys", "databases", "--json", *words)
    assert listed.status == 0, listed.err
    return list(json.loads(listed.out))


@pytest.fixture
def two(loaded: Run, tmp_path: Path) -> Run:
    """A second policy, whose database has visits under the same keys, in a folder of its own."""
    (tmp_path / "other").mkdir()
    text = POLICY.format(database="sqlite:///second.db").replace("sqlite:///keys.db", f"sqlite:///{tmp_path}/keys.db")
    (tmp_path / OTHER).write_text(text.replace("local:kek", f"local:{tmp_path}/kek"), encoding="utf-8")
    assert loaded("init", "-p", OTHER).status == 0
    assert loaded("import", "visits.csv", "-p", OTHER).status == 0
    return loaded


@pytest.fixture
def old(two: Run, tmp_path: Path) -> str:
    (key,) = keys(two)
    two("rotate")
    rest(tmp_path)
    return str(key["key_id"])


def test_a_key_is_retired_when_each_database_was_cleared_by_its_policy(two: Run, old: str, tmp_path: Path) -> None:
    retire = ("keys", "retire", old, "--confirm", "main")
    waits = two(*retire)
    assert waits.status == 3
    assert "visit: 4 rows rewritten" in waits.out
    assert f"data key {old} stays as it is: it may be needed in other databases of main" in waits.err
    assert f"sqlite:///{tmp_path}/other/second.db on " in waits.err
    assert f"with the policy that names it: noisevault keys retire {old} --confirm main" in waits.err
    assert "application.db" not in waits.err
    assert [key["state"] for key in keys(two)] == ["deactivated", "active"]
    assert two(*retire, "-p", OTHER).status == 0
    assert [key["state"] for key in keys(two)] == ["retired", "active"]
    for policy in ("noisevault.toml", OTHER):
        assert "asthma" in two("show", "-p", policy).out


def test_it_is_destroyed_when_each_was_scanned_again_after_the_wait(two: Run, old: str, tmp_path: Path) -> None:
    for policy in ("noisevault.toml", OTHER):
        two("keys", "retire", old, "--confirm", "main", "-p", policy)
    pass_time(tmp_path, 31)
    destroy = ("keys", "destroy", old, "--confirm", "main")
    waits = two(*destroy, "-p", OTHER)
    assert waits.status == 3, "what was found before the wait counts no more"
    assert "application.db" in waits.err
    assert f"noisevault keys destroy {old} --confirm main" in waits.err
    assert [key["state"] for key in keys(two)] == ["retired", "active"]
    assert two(*destroy).status == 0
    assert [key["state"] for key in keys(two)] == ["destroyed", "active"]


def test_a_scan_of_before_the_last_day_counts_no_more_when_a_key_is_destroyed(
    two: Run, old: str, tmp_path: Path
) -> None:
    """A table that was made anew since then may have let in a late row."""
    for policy in ("noisevault.toml", OTHER):
        two("keys", "retire", old, "--confirm", "main", "-p", policy)
    pass_time(tmp_path, 31)
    destroy = ("keys", "destroy", old, "--confirm", "main")
    assert two(*destroy, "-p", OTHER).status == 3
    pass_time(tmp_path, 2)
    waits = two(*destroy)
    assert waits.status == 3
    assert f"sqlite:///{tmp_path}/other/second.db on " in waits.err
    assert two(*destroy, "-p", OTHER).status == 0


def test_a_key_that_came_back_has_to_be_cleared_everywhere_again(two: Run, old: str, tmp_path: Path) -> None:
    retire = ("keys", "retire", old, "--confirm", "main")
    for policy in ("noisevault.toml", OTHER):
        two(*retire, "-p", policy)
    assert two("keys", "restore", old).status == 0
    pass_time(tmp_path, 1)
    assert two(*retire).status == 3
    assert two(*retire, "-p", OTHER).status == 0


def test_databases_are_listed_with_what_needs_each_key_there(two: Run, old: str, tmp_path: Path) -> None:
    here, there = sorted(databases(two), key=lambda row: not row["here"])
    assert (here["here"], there["here"]) == (True, False)
    assert "application.db" in here["place"]
    found = {key["key_id"]: key for key in here["keys"]}
    assert (found[old]["uses"], found[old]["counted_at"]) == (11, "now")
    assert "4 values of visit.national_id" in found[old]["where"]
    assert [key["uses"] for key in there["keys"] if key["key_id"] == old] == [None]
    assert "never counted there" in two("keys", "databases").out
    two("keys", "retire", old, "--confirm", "main")
    (first, second) = (row for row in databases(two, "-p", OTHER))
    cleared = next(row for row in (first, second) if "application.db" in row["place"])
    (data,) = [key for key in cleared["keys"] if key["key_id"] == old]
    assert data["uses"] == 0
    assert data["cleared_at"] != ""
    told = two("keys", "databases", "-p", OTHER).out
    assert f"data key {old}, deactivated: nothing needed it when counted" in told
    assert "; refused by triggers and cleared " in told
    assert "key " + old + ", deactivated: needed by 4 values of visit.national_id" in told


def test_a_database_that_is_no_more_is_forgotten_and_counts_again_when_it_is_seen(
    two: Run, old: str, tmp_path: Path
) -> None:
    retire = ("keys", "retire", old, "--confirm", "main")
    (name,) = [row["database"] for row in databases(two) if not row["here"]]
    assert f"noisevault keys forget-database {name} --confirm main" in two(*retire).err
    assert two("keys", "forget-database", name, "--confirm", "other").status == 1
    unknown = two("keys", "forget-database", "nowhere", "--confirm", "main")
    assert (unknown.status, name in unknown.err) == (1, True)
    forgotten = two("keys", "forget-database", name, "--confirm", "main")
    assert (forgotten.status, forgotten.err) == (0, "")
    assert "If it lives, what a destroyed key sealed there is lost" in forgotten.out
    assert any(row["forgotten_at"] for row in databases(two))
    assert "asthma" in two("show", "-p", OTHER).out  # it lives
    assert not any(row["forgotten_at"] for row in databases(two))
    assert two(*retire).status == 3
    two("keys", "forget-database", name, "--confirm", "main")
    assert two(*retire).status == 0


@pytest.mark.postgres
def test_one_database_by_two_addresses_is_cleared_once(run: Run, tmp_path: Path, postgres_url: str) -> None:
    """While one run of the server is behind both, as both were told when they connected."""
    url = make_url(postgres_url)
    again = url.set(query={"host": f"{url.query['host']}/."}).render_as_string(hide_password=False)
    for folder, address in ((tmp_path, postgres_url), (tmp_path / "other", again)):
        folder.mkdir(exist_ok=True)
        text = POLICY.format(database=address)
        for name in ("keys.db", "ledger.db"):
            text = text.replace(f"sqlite:///{name}", f"sqlite:///{tmp_path}/{name}")
        (folder / "noisevault.toml").write_text(text.replace("local:kek", f"local:{tmp_path}/kek"), encoding="utf-8")
    assert run("init").status == 0
    (tmp_path / "visits.csv").write_text(CSV)
    assert run("import", "visits.csv").status == 0
    assert "asthma" in run("show", "-p", OTHER).out
    assert len(databases(run)) == 2
    (key,) = keys(run)
    run("rotate")
    rest(tmp_path)
    retired = run("keys", "retire", key["key_id"], "--confirm", "main")
    assert (retired.status, retired.err) == (0, "")
