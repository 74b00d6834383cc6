import json
from pathlib import Path

from sqlalchemy import create_engine, inspect, text

from tests.vault.cli.conftest import Run


def test_reencrypt_moves_every_row_and_says_so(loaded: Run) -> None:
    loaded("rotate")
    done = loaded("reencrypt")
    assert done.status == 0
    assert done.out.startswith("visit: 4 rows rewritten"), "no progress bar in a file"
    assert "0 rows not under key" in done.out
    assert "0 rows rewritten" in loaded("reencrypt", "visit").out


def test_within_the_lease_it_says_that_services_may_still_use_the_older_key(loaded: Run) -> None:
    assert "older key" not in loaded("reencrypt").out, "there is none"
    loaded("rotate")
    assert "a service may still seal by the older key" in loaded("reencrypt").out


def test_the_lease_is_the_one_that_the_policy_says(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    policy.write_text(
        policy.read_text(encoding="utf-8").replace("[vault]", "[vault]\nsealing_lease = 20"), encoding="utf-8"
    )
    loaded("rotate")
    told = [json.loads(line) for line in loaded("reencrypt", "--json").out.splitlines()]
    assert 0 < told[-1]["unsafe_seconds"] <= 20


def test_k11_03_a_row_that_does_not_open_makes_the_status_not_zero_and_is_named(loaded: Run, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE visit SET diagnosis = zeroblob(40) WHERE person = 2"))
    loaded("rotate")
    done = loaded("reencrypt")
    assert done.status == 3
    assert "3 rows rewritten" in done.out
    assert "[2, 1] diagnosis" in done.out
    assert "visit.diagnosis: 1 values is not a sealed value" in done.out


def test_a_dry_run_says_what_would_be_and_writes_nothing(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix == ".db"}
    said = loaded("reencrypt", "--dry-run")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("visit: 4 rows would be rewritten under key")
    assert "nothing was written" in said.out
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix == ".db"} == before
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    assert not inspect(engine).has_table("noisevault_job")


def test_a_machine_is_told_in_lines_of_json(loaded: Run) -> None:
    loaded("rotate")
    told = [json.loads(line) for line in loaded("reencrypt", "--json").out.splitlines()]
    assert [one["event"] for one in told] == ["began", "advanced", "proved", "ended"]
    assert (told[-1]["outcome"], told[-1]["rewritten"], told[-1]["remaining"]) == ("complete", 4, 0)
    assert 0 < told[-1]["unsafe_seconds"] <= 180


def test_the_policy_s_keyring_is_one_of_the_store_s(loaded: Run) -> None:
    loaded("rotate")
    assert loaded("reencrypt", "--tenants").out.startswith("visit: 4 rows rewritten")


def test_a_table_that_is_not_in_the_policy_is_named(loaded: Run) -> None:
    assert "nobody" in loaded("reencrypt", "nobody").err
