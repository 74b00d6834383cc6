"""Every command that runs jobs, its work done by a process of its own, which opens all that it needs by itself."""

import json
import pickle
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from kms.providers.local import create_key_file
from tests.vault.cli.conftest import CSV, Run
from tests.vault.cli.test_migrating import FIELD, POLICY, to
from tests.vault.projects import write_policy
from vault.changeover.phase import Subject
from vault.cli.recipes import CommandPlace, MigrationRecipe, ReencryptRecipe, ReindexRecipe, VerifyRecipe
from vault.jobs.engine import Job
from vault.jobs.verifying.verify import Verify

pytestmark = pytest.mark.postgres
TWO = ("--workers", "2")


@pytest.fixture(autouse=True)
def _others_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has no part in it."""

    def not_here(*_: object) -> None:
        raise AssertionError("the process of the command did it")

    monkeypatch.setattr(Job, "pass_alone", not_here)
    monkeypatch.setattr(Verify, "_walk", not_here)


@pytest.fixture
def served(run: Run, tmp_path: Path, postgres_url: str) -> Run:
    write_policy(tmp_path, postgres_url)
    (tmp_path / "visits.csv").write_text(CSV, encoding="utf-8")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    return run


def test_reencrypt_and_reindex(served: Run) -> None:
    served("rotate")
    done = served("reencrypt", *TWO)
    assert (done.status, "\nvisit: 4 rows rewritten," in f"\n{done.out}") == (0, True), done.out + done.err
    served("rotate", "--purpose", "index")
    done = served("reindex", "visit.national_id", "--wait", "--lease", "0.3", *TWO)
    assert done.status == 0, done.out + done.err
    assert "visit.national_id index bidx: done" in done.out
    assert '"person": 2' in served("find", "national_id", "222", "--json").out


def test_verify_names_what_others_have_found(served: Run, postgres_url: str) -> None:
    assert served("verify", *TWO).out.endswith("visit: 4 rows verified, all are whole\n")
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE visit SET diagnosis = '\\x00' WHERE person = 3"))
        connection.execute(text("UPDATE visit SET national_id_bidx_a = NULL WHERE person = 2"))
    told = served("verify", *TWO)
    assert told.status == 3, told.err
    assert "visit [3, 1] diagnosis: not sealed: " in told.out
    assert "visit [2, 1] national_id_bidx_a: term is lacking: " in told.out
    assert "visit: 4 rows verified, 2 fail (diagnosis not sealed 1, national_id_bidx_a term is lacking 1)" in told.out
    lines = [json.loads(line) for line in served("verify", "--anew", "--json", *TWO).out.splitlines()]
    assert [line["event"] for line in lines if line["event"] == "row-wrong"] == ["row-wrong"] * 2
    for words in (("--sample", "2"), ("--read-only",)):
        assert "leave --workers and --dask out" in served("verify", *words, *TWO).err


def test_backfill_restore_and_clear(run: Run, tmp_path: Path, postgres_url: str) -> None:
    policy = POLICY.replace("sqlite:///application.db", postgres_url).replace(
        "kek =", 'keys = "sqlite:///keys.db"\nkek ='
    )
    (tmp_path / "noisevault.toml").write_text(policy, encoding="utf-8")
    create_key_file(tmp_path / "kek")
    made = run("init")
    assert made.status == 0, made.err
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO client (id, mail) VALUES (1, 'Ann@x'), (2, 'Ben@x'), (3, NULL)"))
    assert to(run, "dual-read-plaintext").status == 0
    assert "2 rows written" in run("backfill", FIELD, *TWO).out
    assert "proved" in run("backfill", FIELD, "--after-lease", *TWO).out
    assert to(run, "dual-read-sealed").status == 0
    assert "proved" in run("restore", FIELD, "--after-lease", *TWO).out
    assert to(run, "sealed-only").status == 0
    cleared = run("clear", FIELD, "--after-lease", *TWO)
    assert "2 rows written" in cleared.out
    assert "proved" in cleared.out
    with engine.connect() as connection:
        assert list(connection.scalars(text("SELECT mail FROM client"))) == [None] * 3


def test_they_name_what_is_to_be_opened_and_hold_nothing_else() -> None:
    place = CommandPlace.of(Path("noisevault.toml"), None)
    recipes = [
        ReencryptRecipe(place, "visit"),
        MigrationRecipe(place, "client", "mail_sealed", "backfill", proving=True),
        ReindexRecipe(place, None, None, Subject("visit", "national_id", "bidx"), "visit", "b", empties=False),
    ]
    recipes.append(VerifyRecipe(place, "visit", tenants=False, skip_slow=False))
    assert [pickle.loads(pickle.dumps(one)) for one in recipes] == recipes
    assert len(set(recipes)) == 4
