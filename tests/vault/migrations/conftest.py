"""A folder with Alembic for each kind of database."""

from pathlib import Path

import pytest

from tests.vault.migrations.alembic_project import AlembicProject


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> AlembicProject:
    return AlembicProject(tmp_path, database_url)


@pytest.fixture
def quick(tmp_path: Path) -> AlembicProject:
    """On SQLite, for what does not depend on the database."""
    return AlembicProject(tmp_path, f"sqlite:///{tmp_path / 'application.db'}")
