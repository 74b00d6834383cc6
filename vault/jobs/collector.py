"""Collector: Python's search for cyclic garbage, made rare in a process that does nothing but run jobs.

A batch is tens of thousands of objects that live for a moment and hold no cycles; looked through every 700 of them,
they cost as much again as reading, sealing and writing them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["rare_collections"]

# Ours: more objects than a batch of the largest size has.
OBJECTS: Final = 100_000


@contextmanager
def rare_collections(objects: int = OBJECTS) -> Iterator[None]:
    """For a command, not for a service: what there is already is never looked through until the end.

    objects: that are made and not freed between two searches.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(objects, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
