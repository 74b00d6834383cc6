"""Sharing out: which tests go to one process together, because they share what costs a while to make."""

import re
from typing import Final

from xdist.scheduler import LoadScopeScheduling

# Tests of these modules go together, wholly or by the database or driver that their id begins with.
WHOLE: Final = frozenset(
    {
        "tests/flows/test_indexes_are_used.py",
        "tests/flows/test_leakage_of_the_demonstration.py",
        "tests/flows/test_rand_figures.py",
    },
)
# All tests below this go together: the two worlds that are attacked are made once.
ATTACKS: Final = "tests/attacks/"
BY_DATABASE: Final = frozenset(
    {
        "tests/flows/test_moved_values.py",
        "tests/flows/test_ways_of_asking.py",
        "tests/flows/test_ways_of_asking_in_each_phase.py",
        "tests/flows/test_ways_of_writing.py",
        "tests/flows/test_ways_of_writing_in_each_phase.py",
    }
)
_DATABASE: Final = re.compile(r"\[(sqlite|postgres|mariadb|(?:SQLite|PostgreSQL|MariaDB)(?:-\([^)]*\))?)", re.ASCII)


def together(nodeid: str) -> str:
    """Tests of which this is the same go to one process; all others go to whoever is free."""
    module, _, name = nodeid.partition("::")
    if module in WHOLE:
        return module
    if module.startswith(ATTACKS):
        return ATTACKS
    found = _DATABASE.search(name)
    if module in BY_DATABASE and found:
        return f"{module} {found[1]}"
    return nodeid


class SharingOut(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)
