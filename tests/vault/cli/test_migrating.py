"""mode, backfill, restore and clear, as an operator types them, on a policy's own table."""

import json
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from kms.providers.local import create_key_file
from tests.vault.cli.conftest import Ended, Run

POLICY = """
[vault]
database = "sqlite:///application.db"
kek = "local:kek"
sealing_lease = 1

[table.client]
key = ["id"]
[table.client.column]
id = { type = "int" }
mail_sealed = { type = "str", sealed = true, index = { normalise = "casefold" }, migrating = "mail" }
"""
FIELD = "client.mail"


@pytest.fixture
def moving(run: Run, tmp_path: Path) -> Run:
    """A policy of which one field is migrating, and three rows from before."""
    (tmp_path / "noisevault.toml").write_text(POLICY, encoding="utf-8")
    create_key_file(tmp_path / "kek")
    assert run("init").status == 0
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO client (id, mail) VALUES (1, 'Ann@x'), (2, 'Ben@x'), (3, NULL)"))
    engine.dispose()
    return run


def to(run: Run, mode: str) -> Ended:
    for _ in range(50):
        ended = run("mode", FIELD, "--to", mode, "--reason", "a test")
        if "a sealing lease" not in ended.err:
            return ended
        time.sleep(0.1)
    raise AssertionError("the lease is never over")


def test_a_field_is_moved_there_and_back(moving: Run) -> None:
    shown = moving("mode", FIELD)
    assert shown.out.startswith("client.mail_sealed (plaintext in mail): mode plaintext\n")
    assert to(moving, "dual-read-plaintext").status == 0
    assert moving("find", "mail_sealed", "Ann@x", "--json").out == '{"id": 1, "mail_sealed": "Ann@x"}\n'
    dry = moving("backfill", FIELD, "--dry-run")
    assert dry.out == (
        "client.mail_sealed: 2 rows would be written, 0 cannot be; nothing was written, and no unique index was asked\n"
    )
    first = moving("backfill", FIELD)
    assert first.out.startswith("client.mail_sealed: 2 rows written, 0 changed or locked by others meanwhile, 0 left")
    proof = moving("backfill", FIELD, "--after-lease")
    assert "0 rows written" in proof.out
    assert "proved: no row is left" in proof.out
    assert to(moving, "dual-read-sealed").status == 0
    assert moving("find", "mail_sealed", "ANN@X", "--json").out == '{"id": 1, "mail_sealed": "Ann@x"}\n'
    assert to(moving, "sealed-only").status == 0
    assert moving("clear", FIELD, "--after-lease").out.endswith("the database refuses new ones\n")
    assert json.loads(moving("mode", FIELD, "--json").out) == {
        "field": "client.mail_sealed", "mode": "sealed-only", "everywhere_at": None
    }  # fmt: skip
    assert to(moving, "dual-read-sealed").status == 0
    assert "proved" in moving("restore", FIELD, "--after-lease").out
    assert to(moving, "dual-read-plaintext").status == 0
    assert to(moving, "plaintext").status == 0
    history = moving("mode", FIELD).out
    assert history.count(": a test") == 7  # one of them begins the way back
    assert "Ann" not in history


def test_an_index_of_the_field_is_moved_by_reindex_which_leaves_the_mode_alone(moving: Run, tmp_path: Path) -> None:
    assert to(moving, "dual-read-plaintext").status == 0
    assert "proved" in moving("backfill", FIELD, "--after-lease").out
    assert moving("rotate", "--purpose", "index").status == 0
    done = moving("reindex", "--all", "--wait")
    assert (done.status, done.err) == (0, "")
    assert "client.mail_sealed index bidx: done" in done.out
    assert "client.mail_sealed:" not in done.out
    assert json.loads(moving("mode", FIELD, "--json").out)["mode"] == "dual-read-plaintext"
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.connect() as connection:
        slots = "SELECT mail_sealed_bidx_a IS NULL, mail_sealed_bidx_b IS NULL FROM client WHERE id < 3"
        assert connection.execute(text(slots)).all() == [(1, 0), (1, 0)]
    engine.dispose()
    assert "0 rows written" in moving("backfill", FIELD).out
    assert to(moving, "dual-read-sealed").status == 0
    assert moving("find", "mail_sealed", "ANN@X", "--json").out == '{"id": 1, "mail_sealed": "Ann@x"}\n'


def test_what_cannot_be_done_says_why(moving: Run) -> None:
    skipped = moving("mode", FIELD, "--to", "sealed-only", "--reason", "haste")
    assert skipped.status == 1
    assert "no one step leads" in skipped.err
    assert "--reason" in moving("mode", FIELD, "--to", "dual-read-plaintext").err
    assert "backfill is for mode dual-read-plaintext" in moving("backfill", FIELD).err
    assert "restore is for mode dual-read-sealed" in moving("restore", FIELD).err
    assert "clear is for mode sealed-only" in moving("clear", FIELD).err
    assert "client.mail_sealed" in moving("mode", "client.id").err


def test_a_row_that_cannot_be_sealed_ends_with_a_status_and_no_value(moving: Run, tmp_path: Path) -> None:
    assert to(moving, "dual-read-plaintext").status == 0
    moving("backfill", FIELD)
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE client SET mail_sealed = x'01', mail = 's3cr3t' WHERE id = 2"))
    ended = moving("backfill", FIELD)
    assert ended.status == 3
    assert "[2] mail_sealed" in ended.out
    assert "1 left as they are, with the reason: noisevault jobs failed" in ended.out
    assert "s3cr3t" not in ended.out + ended.err


def test_status_tells_the_mode_of_a_field_that_migrates(moving: Run) -> None:
    moving("mode", FIELD)
    assert "migrating: client.mail_sealed of keyring main, mode plaintext since " in moving("status").out
    assert to(moving, "dual-read-plaintext").status == 0
    assert "migrating: client.mail_sealed of keyring main, mode dual-read-plaintext since " in moving("status").out
    (change,) = json.loads(moving("status", "--json").out)["changes"]
    assert (change["what"], change["mode"]) == ("client.mail_sealed", "dual-read-plaintext")
    assert "phase" not in moving("reindex", "--status").out


def test_a_step_that_waits_says_so_in_words_of_modes(moving: Run) -> None:
    assert to(moving, "dual-read-plaintext").status == 0
    early = moving("mode", FIELD, "--to", "dual-read-sealed", "--reason", "haste")
    assert (early.status, early.out) == (1, "")
    assert "stays in mode dual-read-plaintext: a sealing lease since that mode began is over at" in early.err
    unproved = to(moving, "dual-read-sealed")
    assert unproved.err == (
        "refused: client.mail_sealed stays in mode dual-read-plaintext: dual-read-sealed needs the proof that both"
        " columns of every row say the same: noisevault backfill client.mail_sealed --after-lease\n"
    )
    assert "proved" in moving("backfill", FIELD, "--after-lease").out
    assert to(moving, "dual-read-sealed").status == 0


def test_where_the_trigger_is_taken_away_nothing_says_that_it_stands(moving: Run) -> None:
    assert to(moving, "dual-read-plaintext").status == 0
    moving("backfill", FIELD, "--after-lease")
    assert to(moving, "dual-read-sealed").status == 0
    assert to(moving, "sealed-only").status == 0
    told = moving("clear", FIELD, "--after-lease", "--drop-guard").out
    assert "the trigger that refuses new ones is taken away" in told
    assert "the database refuses" not in told


def test_a_job_of_a_field_is_steered_by_its_kind(moving: Run, tmp_path: Path) -> None:
    assert to(moving, "dual-read-plaintext").status == 0
    moving("backfill", FIELD)
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_job SET state = 'running'"))
    engine.dispose()
    for kind in ("backfill", "backfill mail_sealed"):
        assert moving("jobs", "stop", "--job", kind).out == "backfill mail_sealed client: asked to stop\n"
    assert "no such job runs now" in moving("jobs", "stop", "--job", "restore").err


def test_json_gives_events(moving: Run) -> None:
    assert to(moving, "dual-read-plaintext").status == 0
    events = [json.loads(line) for line in moving("backfill", FIELD, "--json").out.splitlines()]
    assert events
    assert "Ann" not in str(events)
