"""What a command is asked to move, by the words that an operator types."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.vault.projects import make_project
from vault.changeover.phase import Subject
from vault.cli.chosen_indexes import ChosenIndexes
from vault.errors import PolicyError
from vault.project import Project

NATIONAL_ID = Subject("visit", "national_id", "bidx")
DIAGNOSIS = Subject("visit", "diagnosis", "bidx")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(make_project(tmp_path)) as made:
        yield made


def test_a_column_is_chosen_with_its_indexes_and_no_other(project: Project) -> None:
    chosen = ChosenIndexes.of(project, "visit.national_id", None, every=False)
    assert [field.column for field in chosen.fields] == ["national_id"]
    assert chosen.has(NATIONAL_ID)
    assert not chosen.has(DIAGNOSIS)
    assert not chosen.has(Subject("visit", "", "both"))
    assert not chosen.has(Subject("", "", "person numbers"))
    assert not chosen.has(Subject("visit", "national_id", ""))


def test_one_index_of_a_column_is_chosen_by_its_name(project: Project) -> None:
    chosen = ChosenIndexes.of(project, "visit.national_id", "last", every=False)
    assert not chosen.has(NATIONAL_ID)
    assert chosen.has(Subject("visit", "national_id", "last"))


def test_all_are_all_of_the_project(project: Project) -> None:
    chosen = ChosenIndexes.of(project, None, None, every=True)
    assert {field.column for field in chosen.fields} == {"national_id", "diagnosis", "spending"}
    assert [table.name for table in chosen.tables] == ["visit"]


@pytest.mark.parametrize(
    ("place", "told"), [(None, "--all"), ("visit.site", "no sealed column 'site'"), ("visits.site", "visit")]
)
def test_what_there_is_not_is_told(project: Project, place: str | None, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        ChosenIndexes.of(project, place, None, every=False)
