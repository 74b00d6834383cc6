"""What the whole of the tests is watched by must see a connection that is left open, and no other."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from tests.left_open import ROOT, connections_left_open


def connected(folder: Path, **options: object) -> Connection:
    return create_engine(f"sqlite:///{folder / 'x.db'}", **options).connect()


@pytest.mark.parametrize("way", ["dispose", "invalidate", "detach", "no pool"])
def test_what_is_closed_is_not_left_open(tmp_path: Path, way: str) -> None:
    with connections_left_open() as left:
        connection = connected(tmp_path, **({"poolclass": NullPool} if way == "no pool" else {}))
        if way == "invalidate":
            connection.invalidate()
        if way == "detach":
            connection.detach()
        connection.close()
        if way == "dispose":
            connection.engine.dispose()
        del connection
        gc.collect()
    assert left == []


# In a process of its own: here it would be found by what watches all tests.
PROGRAM = """
import gc
from sqlalchemy import create_engine
from tests.left_open import connections_left_open

with connections_left_open() as left:
    create_engine("sqlite:///x.db").raw_connection().close()  # to a pool that nobody has
    gc.collect()
print(*left)
"""


def test_what_is_left_to_the_collector_is_told_with_who_opened_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        [sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert told.count("test_what_is_left_to_the_collector") == 1
