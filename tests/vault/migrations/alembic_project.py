"""A project with Alembic in a folder: its models change, revisions are made and run, never with a key."""

import subprocess
from io import StringIO
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, create_engine

from tests.warm_commands import warm_program

ROOT = Path(__file__).parents[3]
ENV: Final = """
from alembic import context
from sqlalchemy import create_engine

metadata = context.config.attributes.get("metadata")
if metadata is None:
    import models
    metadata = models.Base.metadata

def run(**how):
    context.configure(target_metadata=metadata, **context.config.attributes.get("options", {}), **how)
    with context.begin_transaction():
        context.run_migrations()

url = context.config.get_main_option("sqlalchemy.url")
if context.is_offline_mode():
    run(url=url)
else:
    engine = create_engine(url)
    with engine.connect() as connection:
        run(connection=connection)
    engine.dispose()
"""
TEMPLATE: Final = '''
"""${message}"""
from alembic import op
import sqlalchemy as sa
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

def upgrade():
    ${upgrades if upgrades else "pass"}

def downgrade():
    ${downgrades if downgrades else "pass"}
'''


class AlembicProject:
    """Revisions in `folder` for the database at url. options: of Alembic's context.configure()."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.options: dict[str, Any] = {}
        (folder / "alembic" / "versions").mkdir(parents=True)
        (folder / "alembic" / "env.py").write_text(ENV)
        (folder / "alembic" / "script.py.mako").write_text(TEMPLATE)
        escaped = url.replace("%", "%%")
        (folder / "alembic.ini").write_text(
            f"[alembic]\nscript_location = %(here)s/alembic\nsqlalchemy.url = {escaped}\n"
        )

    def config(self, metadata: MetaData | None = None) -> Config:
        config = Config(str(self.folder / "alembic.ini"), stdout=StringIO())
        config.attributes |= {"metadata": metadata, "options": self.options}
        return config

    def revision(self, metadata: MetaData) -> str:
        """The text of the revision that autogenerate makes of the difference to the database."""
        script: Any = command.revision(self.config(metadata), autogenerate=True)
        return Path(script.path).read_text()

    def upgrade(self, to: str = "head") -> None:
        command.upgrade(self.config(MetaData()), to)

    def downgrade(self, to: str = "base") -> None:
        command.downgrade(self.config(MetaData()), to)

    def create(self, metadata: MetaData) -> None:
        """Make the tables without Alembic."""
        engine = create_engine(self.url)
        metadata.create_all(engine)
        engine.dispose()

    def differences(self, metadata: MetaData) -> list[Any]:
        """What Alembic finds between the models and the database."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            found = compare_metadata(MigrationContext.configure(connection, opts=self.options), metadata)
        engine.dispose()
        return list(found)

    def in_another_process(self, *words: str) -> str:
        """`alembic WORDS`, which knows nothing of a vault but the models' module."""
        ran = subprocess.run(
            [warm_program("alembic"), *words],
            cwd=self.folder,
            env={"PYTHONPATH": f"{self.folder}", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout
