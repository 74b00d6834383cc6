"""The work that fills a slot, and the one that empties it, of the same columns."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from kms import Purpose
from tests.vault.projects import make_project
from vault.changeover.phase import Phase, Subject
from vault.changeover.store import ChangeoverStore
from vault.errors import ChangeoverError
from vault.index.change import begin_field_changes
from vault.jobs.reindexing.index_members import members_of
from vault.jobs.reindexing.index_work import emptying, filling, require_left
from vault.mapping.definitions import definition_of


def test_both_are_of_the_member_s_table_and_slot(tmp_path: Path) -> None:
    with closing(make_project(tmp_path)) as project:
        opened, table = project.opened, project.tables["visit"]
        opened.keyring.lifecycle.rotate(Purpose.INDEX)
        changeovers = ChangeoverStore(opened.key_store, opened.keyring.id, timedelta())
        (begun,) = begin_field_changes(changeovers, opened.keyring, definition_of(table.c.national_id), who="test")
        changeovers.step(begun.subject, Phase.DUAL_ASK_OLD, [], who="test", why="a test")
        opened.keyring.beside.end()
        subject = Subject("visit", "national_id", "bidx")
        members = members_of(subject, project.tables.values(), opened)
        fill, empty = (
            filling(members, "b", opened.keyring.beside.end),
            emptying(members, "a", lambda: require_left(changeovers, subject, "a")),
        )
        assert (fill.name, fill.slot, fill.table.fullname) == ("reindex", "b", "visit")
        assert (empty.name, empty.slot, empty.sets) == ("reindex-empty", "a", ["national_id_bidx_a"])
        assert fill.sets == ["national_id_bidx_b"]
        with pytest.raises(ChangeoverError, match="slot a is not left any more"):
            empty.refresh()  # which is written still
        require_left(changeovers, subject, "c")
