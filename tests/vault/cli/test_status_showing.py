"""`noisevault status`, for people and for programs."""

import json
import re
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from tests.vault.cli.conftest import Run


def sql(path: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def told(run: Run, *words: str) -> Any:
    done = run("status", *words, "--json")
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)


def test_programs_get_keys_tables_jobs_quarantine_and_changes(loaded: Run, tmp_path: Path) -> None:
    loaded("rotate")
    sql(tmp_path / "application.db", "UPDATE visit SET diagnosis = 'text' WHERE person = 2")
    loaded("verify")
    found = told(loaded)
    assert set(found) == {"keys", "tables", "unknown_keys", "jobs", "quarantine", "changes"}
    old, new = [key for key in found["keys"] if key["purpose"] == "data"]
    assert (old["state"], old["rows"], new["state"], new["rows"]) == ("deactivated", 4, "active", 0)
    (table,) = found["tables"]
    assert (table["table"], table["rows"]) == ("visit", 4)
    columns = {column["column"]: column for column in table["columns"]}
    diagnosis = columns["diagnosis"]
    made = {"key_id": old["key_id"], "state": "deactivated", "generation": 0}
    assert diagnosis["by_key"] == [made | {"rows": 4 - 1 - diagnosis["null"]}]
    assert diagnosis["foreign"] == 1
    assert columns["national_id_bidx_b"] == {
        "column": "national_id_bidx_b",
        "holds": "terms",
        "by_key": [],
        "null": 4,
        "foreign": 0,
        "other_format": {},
    }
    assert found["quarantine"] == [{"job": "verify", "table": "visit", "rows": 1}]
    assert [(job["job"], job["state"], job["failed"]) for job in found["jobs"]] == [("verify", "incomplete", 1)]
    assert found["changes"] == []


def test_people_get_tables_of_them(loaded: Run, tmp_path: Path) -> None:
    sql(tmp_path / "application.db", "UPDATE visit SET diagnosis = 'text' WHERE person = 2")
    loaded("verify")
    shown = loaded("status").out
    data = next(key["key_id"] for key in told(loaded)["keys"] if key["purpose"] == "data")
    assert re.search(rf"^{data} +main +data +active +\d+ +\d+ +0 +4 *$", shown, re.MULTILINE)
    assert re.search(rf"^visit\.spending +values +{data} +active +0 +4 *$", shown, re.MULTILINE)
    assert re.search(r"^visit\.diagnosis +values +no value at all +1 *$", shown, re.MULTILINE)
    assert re.search(r"^visit\.national_id_bidx_b +terms +NULL +4 *$", shown, re.MULTILINE)
    assert "quarantine: 1 rows of visit by verify" in shown


def test_what_depends_on_one_key_is_one_number_with_its_places(loaded: Run) -> None:
    loaded("rotate")
    old, new, index, ledger = (key["key_id"] for key in told(loaded)["keys"])
    one = told(loaded, "--key", old)
    assert (one["state"], one["rows"], one["purpose"]) == ("deactivated", 4, "data")
    assert {"where": "visit.spending", "what": "values", "count": 4} in one["uses"]
    assert told(loaded, "--key", new)["rows"] == 0
    slots = [use for use in told(loaded, "--key", index)["uses"] if use["what"].startswith("slot")]
    assert slots == [{"where": "visit.national_id", "what": "slot (bidx, a)", "count": 1}]
    assert told(loaded, "--key", ledger)["uses"][0]["what"] == "entries"
    loaded("reencrypt")
    assert told(loaded, "--key", old)["rows"] == 0
    said = loaded("status", "--key", new).out
    assert f"data key {new} of keyring main, active: 4 rows depend on it" in said
    assert "  4 values of visit.spending" in said


def test_a_key_that_nobody_has_is_refused_unless_a_row_names_it(loaded: Run, tmp_path: Path) -> None:
    refused = loaded("status", "--key", "0badf00d")
    assert refused.status == 1
    assert "no keyring has a key 0badf00d" in refused.err
    sql(tmp_path / "application.db", "UPDATE visit SET diagnosis = x'01000badf00d' || zeroblob(60) WHERE person = 2")
    sql(tmp_path / "application.db", "UPDATE visit SET diagnosis = CAST(diagnosis AS BLOB) WHERE person = 2")
    said = loaded("status", "--key", "0badf00d").out
    assert "0badf00d, unknown: 1 rows depend on it" in said
    assert "unknown" in loaded("status").out


def test_keys_of_no_keyring_are_not_shown_without_end(loaded: Run, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    columns = "person, year, site, diagnosis"
    with engine.begin() as connection:
        for at in range(30):
            alien = b"\x01\x00abc" + bytes([at]) + bytes(40)
            connection.execute(text(f"INSERT INTO visit ({columns}) VALUES ({100 + at}, 1, 1, :v)"), {"v": alien})
    engine.dispose()
    shown = loaded("status").out
    assert shown.count("61626") == 20
    assert re.search(r"^visit\.diagnosis +values +10 more +unknown", shown, re.MULTILINE)
    assert len(told(loaded)["unknown_keys"]) == 30


def test_a_key_over_its_seals_is_marked_with_what_to_do(loaded: Run, tmp_path: Path) -> None:
    sql(tmp_path / "keys.db", "UPDATE noisevault_seal_count SET counted = 2147483649 WHERE label = 'visit.spending'")
    shown = loaded("status").out
    assert "! 2147483649" in shown
    assert "at 2**32 sealing stops: noisevault rotate --purpose data" in shown
    assert [key["rotate"] for key in told(loaded)["keys"]] == [True, False, False]


def test_jobs_and_changes_under_way_are_told(loaded: Run, tmp_path: Path) -> None:
    from kms import Keyring, KeyStore, open_provider
    from tests.vault.phases import set_phase
    from vault.changeover.phase import Phase, Subject

    loaded("verify")
    sql(tmp_path / "application.db", "UPDATE noisevault_job SET state = 'running'")
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    keyring = Keyring.open(store, open_provider(f"local:{tmp_path / 'kek'}"), "main")
    set_phase(store, keyring, Subject("visit", "national_id", "bidx"), Phase.DUAL_ASK_OLD)
    shown = loaded("status").out
    assert "job verify of visit: running, 4 of 4 rows in pass 1, last sign of it at " in shown
    assert "changing: visit.national_id index bidx of keyring main, from a to b, phase 2 of 4 since " in shown
    (change,) = told(loaded)["changes"]
    assert (change["what"], change["phase"], change["mode"]) == ("visit.national_id index bidx", 2, None)
    keyring.close()
    store.engine.dispose()


def test_a_table_that_is_not_in_the_policy_is_named(loaded: Run) -> None:
    assert "nobody" in loaded("status", "nobody").err
