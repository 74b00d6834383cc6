"""What the jobs of one field are called, read and are done for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vault.jobs.two_columns_tables import MAIL, Clients, clients
from vault.jobs.migrating.backfill import Backfill
from vault.jobs.migrating.clear import Clear
from vault.jobs.migrating.field_work import FieldWork
from vault.jobs.migrating.restore import Restore

KINDS = (Backfill, Restore, Clear)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Clients]:
    with clients(f"sqlite:///{tmp_path}/application.db", tmp_path) as made:
        yield made


def test_each_has_a_name_of_its_own_over_one_table_and_reads_what_it_compares(at: Clients) -> None:
    works = [kind(MAIL, at.opened) for kind in KINDS]
    assert len({work.name for work in works}) == len(KINDS)
    assert [work.name.split(" ")[0].split(":")[0] for work in works] == ["backfill", "restore", "clear"]
    assert len({work.table for work in works}) <= len(KINDS)
    for work in works:
        assert set(work.compares) <= set(work.reads)
        assert set(work.compares) >= {"mail", "mail_sealed"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_begun_before_the_guard_is_another_goal(at: Clients, kind: type[FieldWork]) -> None:
    goals = {kind(MAIL, at.opened, proving=since).goal for since in ("", "2026-01-01", "2026-01-02")}
    assert len(goals) == 3
    assert kind(MAIL, at.opened).goal == kind(MAIL, at.opened).goal
