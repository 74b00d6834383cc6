"""Server seconds: how long the processes of a PostgreSQL server on this machine have worked, from proc(5)."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

__all__ = ["server_seconds"]


def server_seconds(engine: Engine) -> Callable[[], float]:
    """A clock of all of the server's processor time, of processes that have ended too."""
    with engine.connect() as connection:
        backend = connection.scalar(text("SELECT pg_backend_pid()"))
    postmaster, ticks = int(stat(backend)[1]), os.sysconf("SC_CLK_TCK")

    def seconds() -> float:
        server = sum(map(int, stat(postmaster)[13:15]))
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError):
                fields = stat(int(process.name))
                if int(fields[1]) == postmaster:
                    server += sum(map(int, fields[11:13]))
        return server / ticks

    return seconds


def stat(process: Any) -> list[str]:
    """Fields of proc(5)'s stat from the third, state, on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
