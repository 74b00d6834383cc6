from pathlib import Path

import pytest

from tests.sharing_out import ATTACKS, BY_DATABASE, WHOLE, together

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("module", sorted(WHOLE | BY_DATABASE))
def test_each_module_that_is_named_is_there(module: str) -> None:
    assert (ROOT / module).is_file()


def test_what_shares_a_database_goes_together_and_all_else_alone() -> None:
    test = "tests/flows/test_ways_of_writing_in_each_phase.py::test_x"
    assert together(f"{test}[PostgreSQL-(asyncpg)-4-a]") == together(f"{test}[PostgreSQL-(asyncpg)-1-b]")
    assert together(f"{test}[PostgreSQL-(asyncpg)-4-a]") != together(f"{test}[PostgreSQL-(psycopg-3)-4-a]")
    assert together(f"{test}[SQLite-4-a]") != together(f"{test}[SQLite-(aiosqlite)-4-a]")
    (one, other) = (f"tests/flows/test_rand_figures.py::test_{name}" for name in "xy")
    assert together(one) == together(other)
    assert (ROOT / ATTACKS).is_dir()
    assert together(f"{ATTACKS}test_x.py::test_a") == together(f"{ATTACKS}test_y.py::test_b[1]")
    assert together("tests/dp/test_grid.py::test_x[sqlite-1]") == "tests/dp/test_grid.py::test_x[sqlite-1]"
