"""The kinds of database that a test of SQL is run on, as parameters of a fixture."""

import pytest

from tests.servers import mariadb
from tests.servers.not_run import need_program

SERVERS = (
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mariadb", marks=pytest.mark.mariadb),
)
DATABASES = (pytest.param("sqlite"), *SERVERS)


def need_database(node: pytest.Item, kind: str) -> None:
    """The test is skipped and recorded where the kind's server is not on this machine."""
    if kind == "mariadb":
        need_program(node, mariadb.PROGRAM, mariadb.INSTALL)
