"""deactivate, retire, restore, destroy: as an operator types them, refused while something needs the key."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kms import KeyStore, Purpose
from tests.kms.rested import let_rest
from tests.vault.cli.conftest import CSV, Run
from tests.vault.cli.test_rotating import pass_time
from vault.cli.options import open_keys

pytestmark = pytest.mark.databases_in_turn


def keys(run: Run, purpose: str = "data") -> list[dict[str, Any]]:
    return [key for key in json.loads(run("keys", "list", "--json").out) if key["purpose"] == purpose]


def rest(folder: Path) -> None:
    store = KeyStore.from_url(f"sqlite:///{folder / 'keys.db'}")
    let_rest(store.engine)
    store.close()


@pytest.fixture
def unused(loaded: Run, tmp_path: Path) -> str:
    """The first data key, from which every value was moved, and that has rested."""
    (old,) = keys(loaded)
    assert loaded("rotate").status == 0
    assert loaded("reencrypt").status == 0
    rest(tmp_path)
    return str(old["key_id"])


def test_a_key_that_nothing_needs_is_retired_waits_and_is_destroyed(loaded: Run, unused: str, tmp_path: Path) -> None:
    retired = loaded("keys", "retire", unused, "--confirm", "main")
    assert (retired.status, retired.err) == (0, "")
    assert "Not looked at: replicas that are behind, backups" in retired.out
    assert "The policy declares neither backup_retention nor replica_lag: it waits for 30d, the default." in retired.out
    assert f"noisevault keys restore {unused}" in retired.out
    assert [key["state"] for key in keys(loaded)] == ["retired", "active"]
    listed = loaded("keys", "list").out
    assert "retired" in listed
    assert "until" in listed
    early = loaded("keys", "destroy", unused, "--confirm", "main")
    assert (early.status, early.err.count("\n")) == (1, 1)
    assert "both must be past it" in early.err
    pass_time(tmp_path, 30)
    destroyed = loaded("keys", "destroy", unused, "--confirm", "main")
    assert (destroyed.status, destroyed.err) == (0, "")
    assert "An older backup of the key store has them still" in destroyed.out
    assert [key["state"] for key in keys(loaded)] == ["destroyed", "active"]
    assert "asthma" in loaded("show").out
    assert loaded("check").status == 0
    assert "was destroyed at" in loaded("keys", "restore", unused).err


def test_a_retired_key_is_restored(loaded: Run, unused: str) -> None:
    loaded("keys", "retire", unused, "--confirm", "main")
    assert f"{unused} is deactivated again" in loaded("keys", "restore", unused).out
    assert [key["state"] for key in keys(loaded)] == ["deactivated", "active"]


def test_a_key_that_values_name_is_not_retired(loaded: Run, tmp_path: Path) -> None:
    (old,) = keys(loaded)
    loaded("rotate")
    rest(tmp_path)
    refused = loaded("keys", "retire", old["key_id"], "--confirm", "main", "--no-reencrypt")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert f"data key {old['key_id']} is needed by 4 values of visit.national_id" in refused.err
    assert "noisevault reencrypt" in refused.err
    assert [key["state"] for key in keys(loaded)] == ["deactivated", "active"]


def test_what_a_data_key_sealed_is_moved_and_then_the_key_is_retired(loaded: Run, tmp_path: Path) -> None:
    (old,) = keys(loaded)
    loaded("rotate")
    rest(tmp_path)
    retired = loaded("keys", "retire", old["key_id"], "--confirm", "main")
    assert (retired.status, retired.err) == (0, "")
    assert "visit: 4 rows rewritten" in retired.out
    assert [key["state"] for key in keys(loaded)] == ["retired", "active"]
    assert "asthma" in loaded("show").out


def test_a_value_that_came_back_is_found_before_the_key_is_destroyed(loaded: Run, unused: str, tmp_path: Path) -> None:
    loaded("keys", "retire", unused, "--confirm", "main")
    pass_time(tmp_path, 30)
    late = b"\x01\x00" + bytes.fromhex(unused) + bytes(28)
    come = "UPDATE visit SET diagnosis = ? WHERE person = 3"
    with closing(sqlite3.connect(tmp_path / "application.db")) as data, data:
        with pytest.raises(sqlite3.IntegrityError, match=r"a value of visit\.diagnosis by a retired key"):
            data.execute(come, (late,))
        for (name,) in data.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            data.execute(f"DROP TRIGGER {name}")  # as a table that is made anew has none
        data.execute(come, (late,))
    refused = loaded("keys", "destroy", unused, "--confirm", "main")
    assert (refused.status, refused.out) == (1, "")
    assert "is needed by 1 values of visit.diagnosis" in refused.err
    assert f"by: noisevault keys restore {unused}, then noisevault reencrypt" in refused.err
    assert [key["state"] for key in keys(loaded)] == ["retired", "active"]


def test_a_key_that_others_may_seal_with_is_not_retired(loaded: Run) -> None:
    (old,) = keys(loaded)
    assert "active: rotate first" in loaded("keys", "retire", old["key_id"], "--confirm", "main").err
    loaded("rotate")
    loaded("reencrypt")
    assert "less than 180 seconds ago" in loaded("keys", "retire", old["key_id"], "--confirm", "main").err


@pytest.mark.parametrize("command", ["retire", "destroy"])
def test_another_name_is_refused_before_anything_is_opened(
    loaded: Run, unused: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / "keys.db").rename(tmp_path / "elsewhere.db")
    (tmp_path / "application.db").rename(tmp_path / "elsewhere2.db")
    refused = loaded("keys", command, unused, "--confirm", "mian")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "--confirm takes the keyring's name, which is main; nothing was done" in refused.err


@pytest.mark.parametrize("command", ["retire", "destroy"])
def test_a_name_or_a_whole_key_id_that_is_missing_has_status_2(loaded: Run, unused: str, command: str) -> None:
    assert loaded("keys", command, unused).status == 2
    assert loaded("keys", command, unused[:7], "--confirm", "main").status == 2


def test_an_id_of_no_key_is_told(loaded: Run) -> None:
    for words in (("retire", "00000001", "--confirm", "main"), ("restore", "00000001"), ("deactivate", "00000001")):
        refused = loaded("keys", *words)
        assert (refused.status, refused.err.count("\n")) == (1, 1)
        assert "no key 00000001" in refused.err


def test_a_short_wait_has_to_be_asked_for(loaded: Run, unused: str) -> None:
    words = ("keys", "retire", unused, "--confirm", "main", "--wait", "0d")
    assert "7 to 3650 days" in loaded(*words).err
    assert loaded(*words[:-1], "1 day").status == 2
    assert loaded(*words, "--short-wait").status == 0
    assert loaded("keys", "destroy", unused, "--confirm", "main").status == 0


def test_a_field_that_the_policy_does_not_name_has_to_be_looked_at(loaded: Run, unused: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as store, store:
        store.execute("INSERT INTO noisevault_seal_count VALUES (?, 'other.phone', 256)", (bytes.fromhex(unused),))
    retired = loaded("keys", "retire", unused, "--confirm", "main")
    assert "Not looked at: other.phone, of which the key sealed up to 256 values" in retired.out
    pass_time(tmp_path, 30)
    words = ("keys", "destroy", unused, "--confirm", "main")
    refused = loaded(*words)
    assert refused.status == 1
    assert "add --looked-at other.phone" in refused.err
    assert [key["state"] for key in keys(loaded)] == ["retired", "active"]
    assert loaded(*words, "--looked-at", "other.phone").status == 0


def test_what_is_refused_for_fields_of_another_policy_has_made_the_triggers_of_this_one(
    loaded: Run, unused: str, tmp_path: Path
) -> None:
    """Two policies name tables of one database: each is scanned, and refuses the key, before the key may go."""
    text = (tmp_path / "noisevault.toml").read_text(encoding="utf-8")
    of_bills = text.partition("[dataset")[0].replace("[table.visit", "[table.bill")
    (tmp_path / "bills.toml").write_text(of_bills, encoding="utf-8")
    assert loaded("init", "--policy", "bills.toml").status == 0
    with closing(sqlite3.connect(tmp_path / "keys.db")) as store, store:
        store.execute("INSERT INTO noisevault_seal_count VALUES (?, 'bill.diagnosis', 256)", (bytes.fromhex(unused),))
    assert loaded("keys", "retire", unused, "--confirm", "main").status == 0
    pass_time(tmp_path, 30)
    words = ("keys", "destroy", unused, "--confirm", "main")
    refused = loaded(*words)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "look there by the policy or models that do, with the same command" in refused.err
    assert loaded(*words, "--policy", "bills.toml").status == 1, "for the fields of the other policy"
    assert loaded(*words, "--looked-at", "bill.diagnosis").status == 0
    late = b"\x01\x00" + bytes.fromhex(unused) + bytes(28)
    refusal = pytest.raises(sqlite3.IntegrityError, match=r"a value of bill\.diagnosis by a retired key")
    with closing(sqlite3.connect(tmp_path / "application.db")) as data, refusal:
        data.execute("INSERT INTO bill (person, year, diagnosis) VALUES (1, 1, ?)", (late,))


def of_two_databases(run: Run, folder: Path, waits: tuple[str, str]) -> str:
    """Policies a.toml and b.toml of one keyring, each with a database and a section [vault] of its own; the old key."""
    text = (folder / "noisevault.toml").read_text(encoding="utf-8")
    for name, wait in zip("ab", waits, strict=True):
        changed = text.replace("application.db", f"{name}.db").replace("[vault]", f"[vault]\n{wait}")
        (folder / f"{name}.toml").write_text(changed, encoding="utf-8")
        assert run("init", "--policy", f"{name}.toml").status == 0
    (old,) = keys(run)
    assert run("rotate").status == 0
    rest(folder)
    first = run("keys", "databases", "--json")
    here = next(one["database"] for one in json.loads(first.out) if one["here"])
    assert run("keys", "forget-database", here, "--confirm", "main").status == 0
    return str(old["key_id"])


def test_a_key_waits_for_as_long_as_any_of_its_databases_needs(loaded: Run, tmp_path: Path) -> None:
    old = of_two_databases(loaded, tmp_path, ('backup_retention = "90d"', 'backup_retention = "10d"'))
    assert loaded("keys", "retire", old, "--confirm", "main", "--policy", "a.toml").status == 3
    retired = loaded("keys", "retire", old, "--confirm", "main", "--policy", "b.toml")
    assert (retired.status, retired.err) == (0, "")
    assert re.search(r"It waits for 90d, as was said when sqlite:///\S*/a\.db on \S+ was cleared", retired.out)
    pass_time(tmp_path, 80)
    assert "both must be past it" in loaded("keys", "destroy", old, "--confirm", "main", "--policy", "b.toml").err


def test_a_wait_that_was_asked_for_in_one_database_holds_in_the_other(loaded: Run, tmp_path: Path) -> None:
    old = of_two_databases(loaded, tmp_path, ("", ""))
    words = ("keys", "retire", old, "--confirm", "main")
    told = loaded(*words, "--wait", "36h", "--short-wait", "--policy", "a.toml")
    assert told.status == 3
    assert f"noisevault keys retire {old} --confirm main --wait 36h --short-wait\n" in told.err, "to be typed there"
    assert loaded(*words, "--wait", "200d", "--policy", "a.toml").status == 3
    assert "It waits for 200d, as was said" in loaded(*words, "--policy", "b.toml").out


def test_an_index_key_that_a_slot_keeps_is_not_retired(loaded: Run, tmp_path: Path) -> None:
    (index,) = keys(loaded, "index")
    loaded("keys", "deactivate", index["key_id"])
    rest(tmp_path)
    refused = loaded("keys", "retire", index["key_id"], "--confirm", "main")
    assert refused.status == 1
    assert "1 slot (bidx, a) of visit.national_id, 4 terms of visit.national_id_bidx_a" in refused.err


def test_a_ledger_key_that_was_active_is_not_retired(loaded: Run, tmp_path: Path) -> None:
    with open_keys(tmp_path / "noisevault.toml") as keyring:
        keyring.lifecycle.rotate(Purpose.LEDGER)  # by a program: a command would tell the log, and sign by it
    loaded("rotate", "--purpose", "ledger")
    loaded("ask", "count(*)", "--epsilon", "0.1")
    loaded("rotate", "--purpose", "ledger")
    rest(tmp_path)
    first, unused, signed, _ = (key["key_id"] for key in keys(loaded, "ledger"))
    assert "first ledger key" in loaded("keys", "retire", first, "--confirm", "main").err
    refused = loaded("keys", "retire", signed, "--confirm", "main").err
    assert "entries of noisevault_audit, 1 questions of noisevault_charge, 1 answers of noisevault_answer" in refused
    assert "was active" in loaded("keys", "retire", unused, "--confirm", "main").err
    assert loaded("check").status == 0


def test_a_closed_keyring_opens_and_refuses_to_seal(loaded: Run, tmp_path: Path) -> None:
    (key,) = keys(loaded)
    closed = loaded("keys", "deactivate", key["key_id"])
    assert (closed.status, closed.err) == (0, "")
    assert "noisevault rotate --purpose data" in closed.out
    assert "asthma" in loaded("show").out
    (tmp_path / "more.csv").write_text(CSV.replace("1,1,1", "7,1,1").replace("1,2,1", "7,2,1"), encoding="utf-8")
    refused = loaded("import", "more.csv")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert f"keyring 'main' is closed for data: its last key {key['key_id']} is deactivated" in refused.err
    for words in (("check",), ("init",), ("keys", "check")):
        assert loaded(*words).status == 0
    assert "nothing is due" in loaded("rotate", "--if-older-than", "0d").out
    assert "the keyring was closed" in loaded("rotate").out
    assert [k["state"] for k in keys(loaded)] == ["deactivated", "active"]


POLICY_OF_TWO = """
[vault]
database = "{url}"
keys = "sqlite:///keys.db"
kek = "local:kek"

[table.visit]
key = ["id"]
[table.visit.column]
id = {{ type = "int" }}
diagnosis = {{ type = "str", sealed = true, bind = ["id"] }}
note = {{ type = "str", sealed = true }}

[table.letter]
key = ["id"]
[table.letter.column]
id = {{ type = "int" }}
body = {{ type = "str", sealed = true, index = {{}} }}
"""


def test_k11_07_a_key_is_retired_only_when_no_table_names_it(run: Run, tmp_path: Path, database_url: str) -> None:
    """One row of 1,000, and one of another table, still use it: counts by column, and after a re-encryption it ends."""
    (tmp_path / "noisevault.toml").write_text(POLICY_OF_TWO.format(url=database_url))
    assert run("init").status == 0
    old = keys(run)[0]["key_id"]
    for table, header in (("visit", "id,diagnosis,note"), ("letter", "id,body")):
        (tmp_path / "one.csv").write_text(f"{header}\n0{',old' * header.count(',')}\n")
        assert run("import", "one.csv", "--table", table).status == 0
    assert run("rotate").status == 0
    (tmp_path / "many.csv").write_text("id,diagnosis,note\n" + "".join(f"{n},new,new\n" for n in range(1, 1000)))
    assert run("import", "many.csv", "--table", "visit").status == 0
    rest(tmp_path)
    words = ("keys", "retire", old, "--confirm", "main", "--no-reencrypt")
    refused = run(*words)
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    for column in ("visit.diagnosis", "visit.note", "letter.body"):
        assert f"1 values of {column}" in refused.err
    assert [key["state"] for key in keys(run)] == ["deactivated", "active"]
    assert "visit: 1 rows rewritten" in run("reencrypt", "visit").out
    refused = run(*words)
    assert (refused.status, "visit" in refused.err) == (1, False)
    assert "1 values of letter.body" in refused.err
    retired = run(*words[:-1])
    assert "letter: 1 rows rewritten" in retired.out
    assert (retired.status, retired.err) == (0, "")
    assert "old" in run("find", "body", "old", "--table", "letter", "--json").out
