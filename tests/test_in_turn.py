"""Which database a test is run on where databases take turns."""

from collections import Counter
from itertools import product

import pytest

from tests.in_turn import EVERY, IN_TURN, deselect, left_out

DATABASES = ("sqlite", "postgres", "mariadb")


def kept(names: list[str]) -> list[str]:
    out = left_out(names)
    return [name for name in names if name not in out]


def test_each_test_is_kept_once_and_the_databases_have_equal_shares() -> None:
    names = [f"test_{number}[{database}]" for number in range(9) for database in DATABASES]
    left = kept(names)
    assert [name.partition("[")[0] for name in left] == [f"test_{number}" for number in range(9)]
    assert all(sum(database in name for name in left) == 3 for database in DATABASES)


def test_each_value_of_a_parameter_meets_each_database() -> None:
    names = [f"test[{database}-{a}-{b}]" for a, b in product("abc", "xyz") for database in DATABASES]
    left = kept(names)
    assert len(left) == 9
    for value in "abcxyz":
        met = {name.partition("[")[2].partition("-")[0] for name in left if f"-{value}" in name}
        assert met == set(DATABASES)


@pytest.mark.parametrize(
    "name", ["test_alone[mariadb]", "test_of_none", "test_of_none[mariadbs]", "test_b[x-postgres]"]
)
def test_what_was_asked_for_alone_or_has_no_database_is_kept(name: str) -> None:
    assert kept([name]) == [name]


class Item:
    def __init__(self, module: str, name: str, *marks: str) -> None:
        self.nodeid, self.name = f"{module}::{name}", name
        self._marks = marks

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self._marks else None


@pytest.mark.parametrize("soak", ["0", "1"])
def test_marked_modules_take_turns_but_for_their_exceptions_and_not_in_soak(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, soak: str
) -> None:
    monkeypatch.setenv("NOISEVAULT_SOAK", soak)
    items = [
        Item(module, f"{test}[{database}]", *marks)
        for module, test, *marks in (
            ("one.py", "test_a", IN_TURN),
            ("one.py", "test_b", IN_TURN, EVERY),
            ("one.py", "test_c", IN_TURN),
            ("two.py", "test_d"),
        )
        for database in DATABASES
    ]
    deselect(pytestconfig, items)  # type: ignore[arg-type]
    often = Counter(item.name.partition("[")[0] for item in items)
    once = 3 if soak == "1" else 1
    assert often == {"test_a": once, "test_b": 3, "test_c": once, "test_d": 3}
