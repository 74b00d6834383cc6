"""restore-check, as an operator types it after a database was put back."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from tests.vault.cli.conftest import Run
from tests.vault.restoration.copies import add, copy_of, looked, put_back
from vault import attach, open_tenants
from vault.cli.models import load_models


def test_a_whole_project_is_well_and_is_left_as_it_is(loaded: Run, tmp_path: Path) -> None:
    report = looked(loaded, status=0)
    assert (report["well"], report["findings"], report["steps"]) == (True, [], [])
    assert {key["state"] for key in report["keys"]} == {"active"}
    before = {name: [*_dump(tmp_path / name)] for name in ("application.db", "keys.db", "ledger.db")}
    told = loaded("restore-check")
    assert told.status == 0
    assert "all is well: 3 keys that 4 rows and the ledger need live" in told.out
    assert before == {name: [*_dump(tmp_path / name)] for name in before}


def _dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


def test_a_check_that_finds_something_changes_nothing_either(loaded: Run, tmp_path: Path) -> None:
    """Any other command would record the field anew at its start, and pin its slot to another key."""
    with closing(sqlite3.connect(tmp_path / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM noisevault_field")
        keys.execute("DELETE FROM noisevault_index_slot")
    before = {name: _dump(tmp_path / name) for name in ("application.db", "keys.db", "ledger.db")}
    looked(loaded)
    assert before == {name: _dump(tmp_path / name) for name in before}


MODELS = """
from sqlalchemy import String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from vault import Sealed

class Base(DeclarativeBase):
    pass

class Login(Base):
    __tablename__ = "login"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(40))
    email: Mapped[str] = mapped_column(Sealed(Text, tenant="tenant_id"))
"""


def test_keys_of_tenants_under_a_kek_of_their_own_are_told_as_not_tried(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that half of the rows is not said to be well by a policy that cannot see their key-encryption key."""
    module = f"restored_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{module}.py").write_text(MODELS, encoding="utf-8")
    for tenant in ("acme", "globex"):
        text = f"""[vault]\ndatabase = "sqlite:///application.db"\nkeys = "sqlite:///keys.db"\nkeyring = "{tenant}"
kek = "local:{tenant}.kek"\n"""
        (tmp_path / f"{tenant}.toml").write_text(text, encoding="utf-8")
        assert run("init", "--models", f"{module}:Base", "--policy", f"{tenant}.toml").status == 0
    metadata = load_models(f"{module}:Base")
    assert metadata is not None
    engine, vaults = create_engine("sqlite:///application.db"), open_tenants("sqlite:///keys.db", "local:{}.kek".format)
    metadata.create_all(engine)
    attach(engine, vaults, metadata)
    with engine.begin() as connection:
        for at, tenant in enumerate(("acme", "globex")):
            row = {"id": at, "tenant_id": tenant, "email": f"{at}@example.org"}
            connection.execute(metadata.tables["login"].insert().values(row))
    vaults.close()
    engine.dispose()
    (tmp_path / "globex.kek").unlink()
    options = ("--models", f"{module}:Base", "--policy", "acme.toml")
    told = run("restore-check", *options)
    assert (told.status, told.err) == (0, "")
    assert "all is well" not in told.out
    assert re.search(r"not tried: whether 1 keys of keyring globex unwrap by local:\S+, which", told.out)
    report = json.loads(run("restore-check", "--json", *options).out)
    assert (report["well"], report["findings"]) == (False, [])
    assert [key["keyring"] for key in report["keys"] if not key["tried"]] == ["globex"]
    assert run("restore-check", *options[:-1], "globex.toml").status == 3


def test_it_is_told_in_words_and_no_value_is(loaded: Run, tmp_path: Path) -> None:
    copy_of(tmp_path, "keys.db", "keys.copy")
    assert loaded("rotate").status == 0
    assert add(loaded, tmp_path, 7).status == 0
    put_back(tmp_path, "keys.db", "keys.copy")
    told = loaded("restore-check")
    assert (told.status, told.err) == (3, "")
    assert "What to do, in this order:\n1. Stop every process that writes" in told.out
    assert "flu" not in told.out
    assert "44-7" not in told.out


def test_a_file_that_is_no_head_and_a_database_that_is_gone_are_refused(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "head.json").write_text("{}", encoding="utf-8")
    refused = loaded("restore-check", "--audit-head", "head.json")
    assert (refused.status, refused.out) == (1, "")
    assert "is no audit head" in refused.err
    (tmp_path / "keys.db").unlink()
    gone = loaded("restore-check")
    assert (gone.status, "bring it back from a backup" in gone.err) == (1, True)
