"""`noisevault verify`, by words, with an exit status."""

import json
from pathlib import Path

import pytest
import typer
from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine, text

from tests.vault.cli.conftest import Run
from vault import BlindIndex, Sealed
from vault.cli.verifying import in_one_line, parse_sample, slow_remark
from vault.jobs.job_store import JobState
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.verify import VerifyTally
from vault.opened import OpenedVault
from vault.sample_size import Sample

TERM = "national_id_bidx_a"


def sql(path: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_a_whole_project_is_said_to_be_whole(loaded: Run) -> None:
    done = loaded("verify")
    assert (done.status, done.err) == (0, "")
    assert "visit: 4 rows verified, all are whole" in done.out


def test_k08_05_a_row_of_which_one_term_was_altered_is_named_and_the_status_is_not_zero(
    loaded: Run, tmp_path: Path
) -> None:
    sql(tmp_path / "application.db", f"UPDATE visit SET {TERM} = substr({TERM}, 1, 36) || x'00' WHERE person = 2")
    sql(tmp_path / "application.db", f"UPDATE visit SET {TERM} = CAST({TERM} AS BLOB) WHERE person = 2")
    done = loaded("verify", "visit")
    assert done.status == 3
    assert f"visit [2, 1] {TERM}: term is wrong" in done.out
    assert f"visit: 4 rows verified, 1 fail ({TERM} term is wrong 1)" in done.out


def test_events_are_lines_of_json_that_hold_no_value(loaded: Run, tmp_path: Path) -> None:
    sql(tmp_path / "application.db", "UPDATE visit SET diagnosis = 'secret asthma' WHERE person = 2")
    done = loaded("verify", "--json")
    assert done.status == 3
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [event["event"] for event in events] == ["began", "row-wrong", "advanced", "verified"]
    wrong = {"table": "visit", "key": "[2, 1]", "column": "diagnosis", "kind": "not sealed"}
    assert wrong.items() <= events[1].items()
    assert events[-1]["faults"] == [["diagnosis", "not sealed", 1]]
    assert "secret" not in done.out


def test_only_reading_leaves_nothing_and_a_full_run_lists_the_rows(loaded: Run, tmp_path: Path) -> None:
    sql(tmp_path / "application.db", "UPDATE visit SET diagnosis = zeroblob(50) WHERE person = 2")
    database = create_engine(f"sqlite:///{tmp_path / 'application.db'}")

    def tables() -> set[str]:
        with database.connect() as connection:
            return set(connection.scalars(text("SELECT name FROM sqlite_master WHERE name LIKE 'noisevault%'")))

    assert loaded("verify", "--read-only").status == 3
    assert loaded("verify", "--sample", "100%").status == 3
    assert tables() == set()
    assert loaded("verify").status == 3
    with database.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM noisevault_quarantine")) == 1
    database.dispose()


def test_a_sample_says_that_it_is_one(loaded: Run) -> None:
    assert "visit: 3 rows of a sample verified, all are whole" in loaded("verify", "--sample", "3").out
    refused = loaded("verify", "--sample", "lots")
    assert refused.status == 2
    assert "such as 1000" in refused.err


def test_a_dataset_that_does_not_bind_its_unit_fails_too(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    loose = 'year = { type = "int" }\nloose = { type = "int", sealed = true }'
    policy.write_text(policy.read_text().replace('year = { type = "int" }', loose))
    sql(tmp_path / "application.db", "ALTER TABLE visit ADD COLUMN loose BLOB")
    done = loaded("verify")
    assert done.status == 3
    assert "visit loose: dataset does not bind its unit: dataset.visits" in done.out


def test_a_table_that_is_not_in_the_policy_is_named(loaded: Run) -> None:
    assert "nobody" in loaded("verify", "nobody").err


def test_samples_are_parsed_or_refused_as_words_of_the_command_line() -> None:
    assert parse_sample("1%") == Sample(share=0.01)
    with pytest.raises(typer.BadParameter, match="such as 1%"):
        parse_sample("x")


def test_a_sample_without_a_row_is_not_called_whole() -> None:
    tally = VerifyTally("visit", 0, 0, (), JobState.COMPLETE)
    assert in_one_line(tally, Sample(share=0.01)) == (
        "visit: no row is in the sample, so none was verified; take a larger one"
    )
    assert in_one_line(tally, None) == "visit: 0 rows verified, all are whole"


def test_a_run_that_was_stopped_says_so() -> None:
    tally = VerifyTally("visit", 20, 1, (), JobState.STOPPED)
    assert in_one_line(tally, None) == "visit: 20 rows verified, 1 fail; stopped before the end"


def test_slow_indexes_are_said_to_be_slow(loaded: Run, tmp_path: Path) -> None:  # the folder's keys
    from kms import Keyring, KeyStore, open_provider

    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    opened = OpenedVault(Keyring.open(store, open_provider(f"local:{tmp_path / 'kek'}"), "main"), store)
    column = Column("pin", Sealed(Text, index=BlindIndex(slow=True)))
    check = RowCheck(Table("slowly", MetaData(), Column("id", Integer, primary_key=True), column), opened)
    assert "slowly: pin bidx: made by argon2id, 20 to 50 ms a row; leave it out by" in slow_remark(check, skipped=False)
    assert slow_remark(check, skipped=True).endswith("not recomputed")
    opened.close()
