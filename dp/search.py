"""Search: where a question about integers that is answered "no" first and "yes" from then on turns."""

from collections.abc import Callable


def smallest(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest integer from low to high at which `holds`; it is taken to hold at high.

    Asked where the answer wavers, it gives a place at which it holds, though perhaps not the first.
    """
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def largest(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The largest integer from low to high at which `holds`; it is taken to hold at low, and to fail after it once."""
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
