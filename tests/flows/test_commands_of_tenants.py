"""The commands on tables of tenants, and on indexes that live in another keyring than the policy's."""

import json
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from kms import KeyStore
from tests.vault.cli.conftest import Run
from vault import attach, open_tenants, open_vault
from vault.cli.models import load_models
from vault.cli.options import open_project
from vault.cli.still_needed import StillNeeded

POLICY = """
[vault]
database = "sqlite:///application.db"
keys = "sqlite:///keys.db"
kek = "local:kek"
keyring = "{}"
"""
# With so much epsilon a count is noised by nothing that shows.
DATASET = """
ledger = "sqlite:///{}.ledger.db"

[dataset.logins]
table = "login"
unit = "id"
rows_per_unit = 1
lifetime_epsilon = "100"
accept_unbound = "nobody else writes to this file"
"""
MODELS = """
from sqlalchemy import String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from vault import BlindIndex, Sealed, casefold

class Base(DeclarativeBase):
    pass

class Login(Base):
    __tablename__ = "login"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(40))
    email: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(casefold, keyring="look-ups"){}))
"""
TENANTS = ("acme", "globex")


@pytest.fixture
def models(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three rows of acme, two of globex, written by an application; the keyrings were made by `init`."""
    module = f"logins_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{module}.py").write_text(MODELS.format(', tenant="tenant_id"'), encoding="utf-8")
    named = f"{module}:Base"
    for tenant in TENANTS:
        (tmp_path / f"{tenant}.toml").write_text(POLICY.format(tenant), encoding="utf-8")
        made = run("init", "--models", named, "--policy", f"{tenant}.toml")
        assert made.status == 0, made.err
    metadata = load_models(named)
    assert metadata is not None
    engine = create_engine("sqlite:///application.db")
    metadata.create_all(engine)
    vaults = open_tenants("sqlite:///keys.db", "local:kek")
    attach(engine, vaults, metadata)
    with engine.begin() as connection:
        for at, tenant in enumerate(("acme", "globex", "acme", "globex", "acme")):
            row = {"id": at, "tenant_id": tenant, "email": f"{at}@example.org"}
            connection.execute(metadata.tables["login"].insert().values(row))
    vaults.close()
    engine.dispose()
    return named


def test_a_new_tenants_keyring_is_made_beside_the_values_of_others(run: Run, models: str, tmp_path: Path) -> None:
    (tmp_path / "umbrella.toml").write_text(POLICY.format("umbrella"), encoding="utf-8")
    assert run("init", "--models", models, "--policy", "umbrella.toml").status == 0
    (tmp_path / "lost.toml").write_text(POLICY.format("acme").replace("keys.db", "new.db"), encoding="utf-8")
    refused = run("init", "--models", models, "--policy", "lost.toml")
    assert refused.status == 1
    assert "table login holds sealed values and the key store has no keyring 'acme'" in refused.err


@pytest.mark.parametrize(("tenant", "rows"), [("acme", 3), ("globex", 2)])
def test_what_reads_works_on_the_rows_of_the_policys_keyring(run: Run, models: str, tenant: str, rows: int) -> None:
    options = ("--models", models, "--policy", f"{tenant}.toml")
    checked = run("check", *options)
    assert (checked.status, checked.out.split(",")[0]) == (0, "keys open")
    measured = json.loads(run("inspect", "leakage", "--json", *options).out)
    assert (measured["rows"], measured["without_term"]) == (rows, 0)
    assert run("keys", "list", "--policy", f"{tenant}.toml").status == 0


@pytest.mark.parametrize(("tenant", "rows"), [("acme", 3), ("globex", 2)])
def test_a_question_is_about_the_rows_of_the_policys_keyring(
    run: Run, models: str, tmp_path: Path, tenant: str, rows: int
) -> None:
    (tmp_path / "asked.toml").write_text(POLICY.format(tenant).rstrip() + DATASET.format(tenant), encoding="utf-8")
    options = ("--models", models, "--policy", "asked.toml")
    assert run("init", *options).status == 0
    for question in ("count(*)", "count(*) where email != 'nobody'"):
        asked = run("ask", question, "--epsilon", "50", "--json", *options)
        assert asked.status == 0, asked.err
        assert round(json.loads(asked.out)["groups"][0]["value"]) == rows
    assert run("check", *options).status == 0


def test_what_shows_or_writes_values_says_what_to_do_instead(run: Run, models: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,tenant_id,email\n9,acme,9@example.org\n", encoding="utf-8")
    for words in (("show",), ("find", "email", "0@example.org"), ("import", "rows.csv")):
        refused = run(*words, "--models", models, "--policy", "acme.toml")
        assert (refused.status, refused.err.count("\n")) == (1, 1)
        assert "the rows of login name their tenants (tenant_id)" in refused.err
        assert "open_tenants()" in refused.err
    assert run("show", "--raw", "--models", models, "--policy", "acme.toml").status == 0


def needed(models: str, key_id: str) -> list[str]:
    """What `keys retire` would find, which waits for 180 seconds after a rotation."""
    with open_project(Path("acme.toml"), models) as project:
        (record,) = (one for one in project.opened.keyring.records() if one.key_id.hex() == key_id)
        return list(map(str, StillNeeded(project).uses(record)))


def test_a_tenants_key_is_rotated_and_its_rows_moved_while_the_others_stay(run: Run, models: str) -> None:
    with_models = ("--models", models, "--policy", "acme.toml")
    old = json.loads(run("keys", "list", "--json", "--policy", "acme.toml").out)[0]["key_id"]
    assert run("rotate", "--policy", "acme.toml").status == 0
    assert needed(models, old) == ["3 values of login.email"]
    moved = run("reencrypt", *with_models)
    assert moved.status == 0, "the rows of others are under their own active keys"
    assert (
        "login: 3 rows rewritten, 0 changed or locked by others meanwhile, 0 unreadable; 0 rows not under key"
        in moved.out
    )
    for tenant in TENANTS:
        assert run("check", "--models", models, "--policy", f"{tenant}.toml").status == 0
    assert needed(models, old) == []


def test_a_policys_index_may_live_in_another_keyring(run: Run, tmp_path: Path) -> None:
    table = """
[table.login]
key = ["id"]
[table.login.column]
id = { type = "int" }
email.type = "str"
email.sealed = true
email.index = [{ normalise = "casefold", keyring = "look-ups" }, { name = "at", normalise = "domain" }]
"""
    (tmp_path / "noisevault.toml").write_text(POLICY.format("main") + table, encoding="utf-8")
    assert run("init").status == 0
    assert run("init").status == 0, "what is there stays"
    store = KeyStore.from_url("sqlite:///keys.db")
    assert set(store.names()) == {"main", "look-ups"}
    store.engine.dispose()
    (tmp_path / "rows.csv").write_text("id,email\n1,Ann@example.org\n2,Bob@example.org\n", encoding="utf-8")
    assert run("import", "rows.csv").status == 0
    assert json.loads(run("find", "email", "ann@example.org", "--json").out)["id"] == 1
    assert run("check").status == 0
    assert run("rotate").status == 0
    assert run("reencrypt").status == 0
    assert json.loads(run("find", "email", "BOB@example.org", "--json").out)["id"] == 2
    for line in run("inspect", "leakage", "--json").out.splitlines():
        assert json.loads(line)["rows"] == 2
    shared = (tmp_path / "noisevault.toml").read_text(encoding="utf-8").replace('"look-ups"', '"look-ups", scope = "x"')
    (tmp_path / "noisevault.toml").write_text(shared, encoding="utf-8")
    assert "index.keyring: an index that columns share" in run("check").err


def test_a_lost_keyring_of_look_ups_is_not_made_anew_beside_its_terms(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application's terms under the old one would not be found."""
    module = f"homes_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{module}.py").write_text(MODELS.format(""), encoding="utf-8")
    (tmp_path / "noisevault.toml").write_text(POLICY.format("main"), encoding="utf-8")
    named = f"{module}:Base"
    assert run("init", "--models", named).status == 0
    metadata = load_models(named)
    assert metadata is not None
    engine = create_engine("sqlite:///application.db")
    metadata.create_all(engine)
    vault = open_vault("sqlite:///keys.db", "local:kek")
    attach(engine, vault, metadata)
    login = metadata.tables["login"]
    with Session(engine) as session:
        session.execute(login.insert().values(id=1, tenant_id="acme", email="Ann@example.org"))
        session.commit()
        assert session.scalars(select(login.c.id).where(login.c.email == "ann@example.org")).all() == [1]
    vault.close()
    engine.dispose()
    found = run("find", "email", "ANN@example.org", "--models", named, "--json")
    assert json.loads(found.out)["id"] == 1
    other = (tmp_path / f"{module}.py").read_text(encoding="utf-8").replace("look-ups", "elsewhere")
    (tmp_path / f"{module}_too.py").write_text(other, encoding="utf-8")
    refused = run("init", "--models", f"{module}_too:Base")
    assert refused.status == 1
    assert "no keyring 'elsewhere'" in refused.err
