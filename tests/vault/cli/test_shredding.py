"""keys shred: by name only, and what it says of backups is so."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kms.lease import LeaseSettings
from kms.provider import KekEnd
from kms.shredding import KekFate, Shredded
from tests.vault.cli.conftest import Run
from vault.cli.shredding import age, told
from vault.errors import PolicyError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_only_by_its_name_and_then_nothing_opens(loaded: Run) -> None:
    assert loaded("keys", "shred").status == 2
    refused = loaded("keys", "shred", "--confirm", "mian")
    assert (refused.status, "confirm that name" in refused.err) == (1, True)
    assert loaded("check").status == 0
    done = loaded("keys", "shred", "--confirm", "main")
    assert done.status == 0, done.err
    assert "keyring main: 3 keys erased" in done.out
    assert "not crypto-shredded: recoverable for as long as a backup of the key store exists" in done.out
    shown = loaded("show")
    assert (shown.status, shown.out, shown.err.count("\n")) == (1, "", 1)
    again = loaded("keys", "shred", "--confirm", "main", "--backups-kept", "35d")
    assert "keyring main: 0 keys erased" in again.out
    until = re.search(r"recoverable from backups of the key store until (\S+ \S+) UTC", again.out)
    assert until is not None
    left = datetime.fromisoformat(until[1]).replace(tzinfo=UTC) - datetime.now(UTC)
    assert timedelta(days=34) < left <= timedelta(days=35)


def test_a_local_key_file_is_removed_and_nothing_claimed_of_copies(loaded: Run, tmp_path: Path) -> None:
    done = loaded("keys", "shred", "--confirm", "main", "--destroy-kek")
    assert done.status == 0, done.err
    assert "its copies are not known here" in done.out
    assert "not crypto-shredded" in done.out
    assert not (tmp_path / "kek").exists()
    again = loaded("keys", "shred", "--confirm", "main", "--destroy-kek")
    assert again.status == 0, again.err
    assert f"the key file {tmp_path / 'kek'} is not there any more" in again.out


def fate(until: datetime = NOON, shared: tuple[str, ...] = (), end: KekEnd | None = None) -> KekFate:
    return KekFate("K", until, shared, end)


@pytest.mark.parametrize(
    ("what", "kept", "lines"),
    [
        (
            fate(end=KekEnd("K", NOON + timedelta(days=30), final=True)),
            None,
            [
                "K: destroyed for good on 2026-01-31 12:00 UTC",
                "crypto-shredded: in effect from 2026-01-31 13:00 UTC on, whatever backups of the key store there are",
            ],
        ),
        (
            fate(shared=("other",)),
            timedelta(days=35),
            [
                "K: stays, keyring other needs it",
                "not crypto-shredded: recoverable from backups of the key store until 2026-02-05 12:00 UTC",
                "processes that held a key may open values until 2026-01-01 13:05 UTC",
            ],
        ),
        (
            fate(),
            None,
            [
                "K: not destroyed by this run; backups up to 2026-01-01 12:00 UTC have keys under it",
                (
                    "not crypto-shredded: recoverable for as long as a backup of the key store exists; say how long"
                    " they are kept by --backups-kept"
                ),
                "processes that held a key may open values until 2026-01-01 13:05 UTC",
            ],
        ),
    ],
)
def test_what_is_told_is_the_truth(what: KekFate, kept: timedelta | None, lines: list[str]) -> None:
    said = list(told(Shredded("main", 3, NOON, LeaseSettings(), (what,)), kept))
    assert said[1:] == lines


@pytest.mark.parametrize("text", ["", "35", "d", "35 d", "-1d", "35m", "1.5d"])
def test_an_age_has_a_number_and_a_unit(text: str) -> None:
    assert (age("35d"), age("12h"), age("5w")) == (timedelta(35), timedelta(hours=12), timedelta(35))
    with pytest.raises(PolicyError, match="such as 35d"):
        age(text)
