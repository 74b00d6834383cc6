"""Caps: how much of one privacy unit a question may see."""

from dataclasses import dataclass
from typing import Final

from dp.errors import ParameterError

MAX_CAP: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Caps:
    """Of one unit at most `rows` rows in a group, in at most `groups` groups (1 for an ungrouped question).

    Raises: ParameterError unless both are whole numbers from 1 to 2**31 - 1.
    """

    rows: int
    groups: int = 1

    def __post_init__(self) -> None:
        for name, cap in (("caps.rows", self.rows), ("caps.groups", self.groups)):
            if type(cap) is not int or not 1 <= cap <= MAX_CAP:
                raise ParameterError(name, "a cap is an int from 1 to 2**31 - 1")

    def groups_in(self, n_groups: int) -> int:
        """In how many groups, of so many declared ones, a question can see one unit."""
        return min(self.groups, n_groups)
