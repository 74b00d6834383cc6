"""In turn: of a test that is to hold on every database, but whose matter is none of theirs, the suite runs one.

Mark a module `pytest.mark.databases_in_turn`: the databases take turns over its tests and their other parameters, so
that each has its share of the module. A test in it that is about what databases do differently is marked
`pytest.mark.every_database`. scripts/soak runs all on all. What was asked for by its name is never left out.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import pytest

from tests.sizes import sized

IN_TURN: Final = "databases_in_turn"
EVERY: Final = "every_database"
MARKERS: Final = (
    f"{IN_TURN}: the suite runs a test on one database, scripts/soak on all (tests/in_turn.py)",
    f"{EVERY}: an exception from {IN_TURN}",
)
_DATABASE: Final = re.compile(r"(?<=[\[-])(sqlite|postgres|mariadb)(?=[-\]])", re.ASCII)


def left_out(names: Iterable[str]) -> set[str]:
    """Of the names of tests of one module, with their parameters, those whose turn it is not."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        if _DATABASE.search(name):
            alike[_DATABASE.sub("*", name, count=1)].append(name)
    out: set[str] = set()
    for at, group in enumerate(alike.values()):
        # Not at % 3 alone: with a parameter of three values, each would always meet the same database.
        turn = (at + at // 3 + at // 9) % len(group)
        out.update(group[:turn] + group[turn + 1 :])
    return out


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """To be called last of all that choose."""
    if sized(0, 1):
        return
    modules: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if _takes_turns(item):
            modules[item.nodeid.partition("::")[0]].append(item)
    dropped: set[pytest.Item] = set()
    for alike in modules.values():
        out = left_out(item.name for item in alike)
        dropped.update(item for item in alike if item.name in out)
    if dropped:
        config.hook.pytest_deselected(items=list(dropped))
        items[:] = [item for item in items if item not in dropped]


def _takes_turns(item: pytest.Item) -> bool:
    return item.get_closest_marker(IN_TURN) is not None and item.get_closest_marker(EVERY) is None
