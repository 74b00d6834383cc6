import os
from pathlib import Path

import pytest

from kms import ProviderSettings
from tests.vault.projects import make_project, write_policy
from vault.dataset_sources import dataset_sources
from vault.policy import Policy
from vault.project import Project

COPY = """
[dataset.again]
table = "visit"
unit = "person"
rows_per_unit = 1
lifetime_epsilon = "1"

[table.ward]
key = ["id"]
[table.ward.column]
id = { type = "int" }

[dataset.wards]
table = "ward"
unit = "id"
rows_per_unit = 1
lifetime_epsilon = "1"
"""


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Project:
    make_project(tmp_path, database_url).close()
    path = write_policy(tmp_path, database_url)
    path.write_text(path.read_text() + COPY)
    return make_again(path)


def make_again(path: Path) -> Project:
    return Project.create(Policy.load(path), ProviderSettings())


def test_datasets_of_one_table_have_one_source_and_those_of_two_have_two(project: Project) -> None:
    sources = dataset_sources(project)
    assert set(sources) == {"visits", "again", "wards"}
    assert sources["visits"] == sources["again"] != sources["wards"]
    assert all(len(source) == 64 and int(source, 16) for source in sources.values())
    assert dataset_sources(project) == sources
    project.close()


def test_a_file_has_one_source_by_any_path_and_its_copy_another(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (source,) = dataset_sources(project).values()
    project.close()
    os.symlink(tmp_path / "application.db", tmp_path / "link.db")
    (tmp_path / "copy.db").write_bytes((tmp_path / "application.db").read_bytes())
    for name, same in (("link.db", True), ("copy.db", False)):
        other = make_again(write_policy(tmp_path, f"sqlite:///{name}"))
        (found,) = dataset_sources(other).values()
        assert (found == source) is same, name
        other.close()


def test_where_case_tells_no_tables_apart_it_tells_no_sources_apart(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (source,) = dataset_sources(project).values()
    project.close()
    path = write_policy(tmp_path)
    path.write_text(path.read_text().replace("[table.visit", "[table.VISIT").replace('"visit"', '"VISIT"'))
    other = Project.open(Policy.load(path), ProviderSettings())
    (found,) = dataset_sources(other).values()
    assert found == source
    other.close()
