from datetime import UTC, datetime

import pytest

from vault.databases.database_register import RegisteredDatabase
from vault.databases.only_here import require_only_here
from vault.errors import ChangeoverError

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def database(digest: str, instance: str = "", forgotten_at: datetime | None = None) -> RegisteredDatabase:
    return RegisteredDatabase(digest * 64, f"place {digest}", instance, WHEN, WHEN, forgotten_at)


def test_one_database_is_one_by_several_addresses_and_beside_those_that_are_no_more() -> None:
    require_only_here([], "an index moves")
    require_only_here([database("1", "a run"), database("2", "a run"), database("3", forgotten_at=WHEN)], "it moves")


def test_of_several_each_is_named_with_what_to_do() -> None:
    with pytest.raises(ChangeoverError, match=r"it moves .*: place 1 \(111111111111\), place 2 .*--only-here"):
        require_only_here([database("1", "a run"), database("2", "another")], "it moves")
    with pytest.raises(ChangeoverError):
        require_only_here([database("1"), database("2", "a run")], "it moves")
