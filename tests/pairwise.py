"""Pairwise: of the product of several axes, few combinations that still hold each pair of values at least once.

Most faults need one value, or two that meet (https://csrc.nist.gov/projects/automated-combinatorial-testing-for-software).
The suite runs these few, the same ones each time; scripts/soak the whole product.
"""

import enum
import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from tests.sizes import sized


def covering(
    *axes: Iterable[Any], together: int = 2, possible: Callable[..., bool] | None = None
) -> list[tuple[Any, ...]]:
    """Combinations, one value an axis, in the order of the product.

    together: how many axes are covered together: 2, each pair of values that any combination has; 1, each value. Of
    two axes only 1 leaves anything out. possible: whether a combination is one at all, from its values. Under
    NOISEVAULT_SOAK=1 (scripts/soak) all of them.
    """
    values = [list(axis) for axis in axes]
    whole = [
        at
        for at in itertools.product(*(range(len(axis)) for axis in values))
        if possible is None or possible(*(_plain(axis[n]) for axis, n in zip(values, at, strict=True)))
    ]
    chosen = whole if sized(0, 1) else _cover(whole, min(together, len(values)))
    return [tuple(axis[n] for axis, n in zip(values, at, strict=True)) for at in chosen]


def covering_params(*axes: Iterable[Any], together: int = 2, possible: Callable[..., bool] | None = None) -> list[Any]:
    """The same for pytest.mark.parametrize: an axis may hold a pytest.param, whose marks and name are kept."""
    return [
        pytest.param(
            *map(_plain, values),
            marks=[mark for value in values if _is_param(value) for mark in value.marks],
            id="-".join(map(_name, values)),
        )
        for values in covering(*axes, together=together, possible=possible)
    ]


def one_of(axis: Iterable[Any], turn: int) -> list[Any]:
    """The value whose turn it is, for tests that are alike on all of them; under NOISEVAULT_SOAK=1 each value.

    Several such tests take turns, so that together they run on each.
    """
    values = list(axis)
    return values if sized(0, 1) else [values[turn % len(values)]]


def _cover(whole: Sequence[tuple[int, ...]], together: int) -> list[tuple[int, ...]]:
    """Each time the combination with most that is new, the first of those with as many."""
    left = {group for at in whole for group in _groups(at, together)}
    chosen = []
    # What is new of a combination only becomes less, so that a count from before is a bound: few are counted again.
    waiting = [(-len(list(_groups(at, together))), number) for number, at in enumerate(whole)]
    heapq.heapify(waiting)
    while left:
        _, number = heapq.heappop(waiting)
        new = left.intersection(_groups(whole[number], together))
        if waiting and new and (-len(new), number) > waiting[0]:
            heapq.heappush(waiting, (-len(new), number))
        elif new:
            chosen.append(number)
            left -= new
    return [whole[number] for number in sorted(chosen)]


def _groups(at: tuple[int, ...], together: int) -> Iterable[tuple[tuple[int, int], ...]]:
    return itertools.combinations(enumerate(at), together)


def _is_param(value: Any) -> bool:
    return isinstance(value, type(pytest.param(0)))


def _plain(value: Any) -> Any:
    return value.values[0] if _is_param(value) else value


def _name(value: Any) -> str:
    if _is_param(value):
        return str(value.id) if value.id is not None else _name(_plain(value))
    if isinstance(value, enum.Enum):
        return value.name
    return str(getattr(value, "__name__", value))
