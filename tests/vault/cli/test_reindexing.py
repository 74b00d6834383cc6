"""reindex, as an operator types it."""

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from tests.vault.cli.conftest import Run

LEASE = ("--lease", "0.3")
PLACE = "visit.national_id"


def redeclare(folder: Path, old: str, new: str) -> None:
    path = folder / "noisevault.toml"
    said = path.read_text(encoding="utf-8")
    assert old in said
    path.write_text(said.replace(old, new), encoding="utf-8")


def statuses(run: Run) -> list[dict[str, object]]:
    return [json.loads(line) for line in run("reindex", "--status", "--json").out.splitlines()]


def stored_terms(folder: Path) -> list[tuple[bytes | None, bytes | None]]:
    engine = create_engine(f"sqlite:///{folder / 'application.db'}")
    with engine.connect() as connection:
        statement = text("SELECT national_id_bidx_a, national_id_bidx_b FROM visit ORDER BY person, year")
        return [(row[0], row[1]) for row in connection.execute(statement)]


def test_a_rotated_index_key_is_moved_to_and_the_old_one_is_needed_no_more(loaded: Run, tmp_path: Path) -> None:
    keys = json.loads(loaded("keys", "list", "--json").out)
    (old,) = [key["key_id"] for key in keys if key["purpose"] == "index"]
    assert loaded("rotate", "--purpose", "index").status == 0
    first = loaded("reindex", PLACE)
    assert first.status == 3
    assert "visit.national_id index bidx: begun, from slot a to slot b" in first.out
    assert re.search(
        r"phase 2 of 4; come back after 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, or run it with --wait", first.out
    )
    (status,) = statuses(loaded)
    assert (status["phase"], status["asked"]) == (2, "a")
    assert set(status["slots"]) == {"a", "b"}  # type: ignore[call-overload]
    assert all(a is not None and b is not None for a, b in stored_terms(tmp_path))
    redeclare(tmp_path, "[vault]", "[vault]\nsealing_lease = 1")
    done = loaded("reindex", PLACE, "--wait")
    assert done.status == 0, done.out + done.err
    assert "visit.national_id index bidx: done" in done.out
    assert re.search(r"phase 3 of 4; waits until 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$", done.out, re.MULTILINE)
    assert "--wait" not in done.out, "it waits already"
    assert all(a is None and b is not None for a, b in stored_terms(tmp_path))
    (status,) = statuses(loaded)
    assert (status["phase"], status["asked"], set(status["slots"])) == (None, "b", {"b"})  # type: ignore[call-overload]
    again = loaded("reindex", "--all")
    assert (again.status, "nothing is due" in again.out) == (0, True)
    told = loaded("reindex", "--status").out
    assert "phase 4 -> -" in told
    assert old not in told.splitlines()[0]


def test_a_table_that_is_made_anew_gets_the_database_index_of_the_slot_in_use(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate", "--purpose", "index")
    assert loaded("reindex", PLACE, "--wait", *LEASE).status == 0
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_visit_national_id_bidx_b")
        connection.exec_driver_sql("CREATE INDEX ix_visit_national_id_bidx_a ON visit (national_id_bidx_a)")
    made = loaded("reindex", "--all")
    assert made.status == 0
    assert "the database index of slot b was not there, and is made" in made.out
    assert "is made" not in loaded("reindex", "--all").out
    columns = [one["column_names"] for one in inspect(engine).get_indexes("visit")]
    assert ["national_id_bidx_b"] in columns


def test_another_normaliser_is_begun_by_the_command_and_refused_before(loaded: Run, tmp_path: Path) -> None:
    redeclare(tmp_path, 'index = {normalise = "digits"}'.replace("{", "{ ").replace("}", " }"), "generation = 1")
    refused = loaded("show", "visit")
    assert refused.status == 1
    assert "noisevault reindex visit.national_id" in refused.err
    removing = loaded("reindex", PLACE, "--wait", *LEASE)
    assert removing.status == 0, removing.out + removing.err
    assert "from slot a to nothing" in removing.out
    assert all(a is None for a, _ in stored_terms(tmp_path))
    assert loaded("show", "visit").status == 0
    redeclare(tmp_path, "generation = 1", 'generation = 2, index = { normalise = "exact" }')
    waiting = loaded("reindex", PLACE, "--wait", *LEASE)
    assert waiting.status == 3
    assert "run it again with --deployed" in waiting.out
    assert loaded("find", "national_id", "11-1").status == 1, "it cannot be asked yet"
    made = loaded("reindex", PLACE, "--wait", "--deployed", *LEASE)
    assert made.status == 0, made.out + made.err


def test_going_back_leaves_the_slot_that_was_asked(loaded: Run, tmp_path: Path) -> None:
    before = stored_terms(tmp_path)
    loaded("rotate", "--purpose", "index")
    loaded("reindex", "--all", *LEASE)
    back = loaded("reindex", "--all", "--abort", "--wait", *LEASE)
    assert back.status == 0, back.out + back.err
    assert stored_terms(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "say --all"), (("visit.site",), "no sealed column 'site'"), (("nobody.name",), "no table 'nobody'")],
)
def test_what_is_not_there_is_named(loaded: Run, words: tuple[str, ...], said: str) -> None:
    refused = loaded("reindex", *words)
    assert (refused.status, said in refused.err) == (1, True)
