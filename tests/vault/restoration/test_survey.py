"""What is told where a table, a keyring or the whole key store is not there."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import create_engine, update

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import kinds, looked
from vault.definitions.definition_tables import index_slot_table


def test_a_key_store_without_a_table(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        for (table,) in keys.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            keys.execute(f"DROP TABLE {table}")
    report = looked(loaded)
    assert {"keyring is lacking", "unknown key", "ledger key"} <= kinds(report)
    assert {key["state"] for key in report["keys"]} == {"unknown"}


def test_a_keyring_of_another_name(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("UPDATE noisevault_keyring SET name = 'other'")
    report = looked(loaded)
    assert kinds(report) == {"keyring is lacking"}
    assert {key["keyring"] for key in report["keys"]} == {"other"}


def test_a_table_that_the_dump_did_not_have(loaded: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "application.db")) as data, data:
        data.execute("DROP TABLE visit")
    assert kinds(looked(loaded)) == {"table or column is lacking"}


EVERY_INDEX = """
[vault]
database = "{0}"
keys = "{1}"
ledger = "{2}"
kek = "local:kek"

[table.person]
key = ["id"]
[table.person.column]
id = {{ type = "int" }}
[table.person.column.mail]
type = "str"
sealed = true
index = [{{ normalise = "email", scope = "who" }}, {{ name = "at", normalise = "domain" }}]
[table.person.column.other]
type = "str"
sealed = true
index = {{ normalise = "email", scope = "who" }}
[table.person.index]
both = {{ columns = ["mail", "other"] }}

[dataset.persons]
table = "person"
unit = "id"
rows_per_unit = 1
lifetime_epsilon = "1"
"""


def test_on_each_database_every_kind_of_index_is_well_and_told_when_its_pin_went_back(
    run: Run, tmp_path: Path, database_url: str
) -> None:
    """Keys, ledger and data in one database, where that is not SQLite's."""
    own = database_url.startswith("sqlite")
    urls = (database_url, "sqlite:///keys.db", "sqlite:///ledger.db") if own else (database_url,) * 3
    (tmp_path / "noisevault.toml").write_text(EVERY_INDEX.format(*urls), encoding="utf-8")
    (tmp_path / "persons.csv").write_text("id,mail,other\n1,a@b.org,c@d.org\n2,,e@f.org\n3,nobody,\n", encoding="utf-8")
    assert run("init").status == 0
    imported = run("import", "persons.csv", "--table", "person")
    assert imported.status == 0, imported.err
    assert run("ask", "count()", "--epsilon", "0.1").status == 0
    report = looked(run, status=0)
    assert {key["purpose"] for key in report["keys"]} == {"data", "index", "ledger"}
    places = {use["where"] for key in report["keys"] for use in key["uses"]}
    assert len(places) == 9, places
    assert run("rotate", "--purpose", "index").status == 0
    active = json.loads(run("keys", "list", "--json").out)
    newest = max((key for key in active if key["purpose"] == "index"), key=lambda key: int(key["sequence"]))
    keys = create_engine(urls[1] if not own else f"sqlite:///{tmp_path / 'keys.db'}")
    with keys.begin() as connection:
        connection.execute(update(index_slot_table).values(key_id=bytes.fromhex(newest["key_id"])))
    keys.dispose()
    found = looked(run)["findings"]
    assert {one["kind"] for one in found} == {"terms of another slot"}
    assert {one["where"] for one in found} == {place for place in places if place.endswith("_a")}
