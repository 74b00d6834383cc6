"""Handing out: tasks that are independent of each other are given to workers, and again when a worker is lost."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Final, TypeVar

from vault.errors import JobError
from vault.jobs.workers.workers import Workers

__all__ = ["handed_out"]

T = TypeVar("T")
R = TypeVar("R")
# Ours: how often a task is given out; and how many for each worker, so that none waits and few results do.
MOST_TRIES: Final = 5
AHEAD: Final = 2


def handed_out(workers: Workers, run: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R]]:
    """Each task with its result, as they are done. Raises: JobError where workers are lost again and again."""
    todo, running = deque((task, 1) for task in tasks), dict[Future[R], tuple[T, int]]()
    while todo or running:
        while todo and len(running) < AHEAD * workers.count:
            task, tries = todo.popleft()
            if tries > MOST_TRIES:
                raise JobError(f"the worker of one range of keys was lost {MOST_TRIES} times: ask with fewer workers")
            try:
                running[workers.submit(run, task)] = (task, tries)
            except workers.lost:
                todo.appendleft((task, tries + 1))
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task, tries = running.pop(future)
            try:
                result = future.result()
            except workers.lost:
                todo.append((task, tries + 1))
            else:
                yield task, result
