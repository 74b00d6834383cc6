"""Of many combinations few are left, none of which is unlike one of the product, and no pair of values is lost."""

import itertools
from enum import IntEnum

import pytest

from tests.pairwise import covering, covering_params, one_of

AXES = (["sqlite", "postgres", "mariadb"], range(5), list("abcdefg"), [False, True])


class Colour(IntEnum):
    RED = 1
    BLUE = 2


@pytest.fixture(autouse=True)
def _the_suites_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOISEVAULT_SOAK", raising=False)


def groups(combinations: list[tuple[object, ...]], together: int) -> set[tuple[tuple[int, object], ...]]:
    return {group for combination in combinations for group in itertools.combinations(enumerate(combination), together)}


@pytest.mark.parametrize("together", [1, 2, 3, 4])
def test_all_that_the_product_has_together_is_covered(together: int) -> None:
    whole = list(itertools.product(*AXES))
    few = covering(*AXES, together=together)
    assert groups(few, together) == groups(whole, together)
    assert set(few) <= set(whole)
    assert few == sorted(few, key=whole.index)
    assert len(set(few)) == len(few)


@pytest.mark.parametrize(("together", "least", "most"), [(1, 7, 7), (2, 35, 40), (3, 105, 125), (4, 210, 210)])
def test_they_are_few(together: int, least: int, most: int) -> None:
    """At least as many as the longest axes have together."""
    assert least <= len(covering(*AXES, together=together)) <= most


def test_they_are_the_same_each_time() -> None:
    assert covering(*AXES) == covering(*AXES)


def test_what_is_impossible_is_left_out_and_all_else_is_covered() -> None:
    def possible(server: str, mode: int, _way: str, quick: bool) -> bool:
        return not (server == "sqlite" and quick) and mode != 3

    whole = [one for one in itertools.product(*AXES) if possible(*one)]
    few = covering(*AXES, possible=possible)
    assert set(few) <= set(whole)
    assert groups(few, 2) == groups(whole, 2)
    assert len(few) < len(whole) / 3


def test_soaked_the_whole_product_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEVAULT_SOAK", "1")
    assert covering(*AXES, together=1) == list(itertools.product(*AXES))


def test_one_of_several_is_taken_in_turn_and_soaked_each(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one_of("abc", turn) for turn in range(4)] == [["a"], ["b"], ["c"], ["a"]]
    monkeypatch.setenv("NOISEVAULT_SOAK", "1")
    assert one_of("abc", 1) == ["a", "b", "c"]


def test_nothing_possible_is_nothing() -> None:
    assert covering([], [1, 2]) == []
    assert covering([1], [1, 2], possible=lambda *_: False) == []


def test_one_axis_is_itself() -> None:
    assert covering("abc") == [("a",), ("b",), ("c",)]


def test_params_keep_their_marks_and_names() -> None:
    servers = [pytest.param("SQLite (aiosqlite)", id="SQLite"), pytest.param("b", marks=pytest.mark.postgres)]
    made = covering_params(servers, Colour, [list, None], possible=lambda server, *_: isinstance(server, str))
    assert [one.id for one in made] == ["SQLite-RED-list", "SQLite-BLUE-None", "b-RED-None", "b-BLUE-list"]
    assert made[0].values == ("SQLite (aiosqlite)", Colour.RED, list)
    assert [[mark.name for mark in one.marks] for one in made] == [[], [], ["postgres"], ["postgres"]]
