"""Tasks for workers: each result once, and no more in hand than they can take."""

from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from vault.errors import JobError
from vault.jobs.workers.handing_out import handed_out
from vault.jobs.workers.workers import WorkersOf


class Counts(ThreadPoolExecutor):
    """most: tasks that were in hand at once. loses: the first so many results are lost."""

    def __init__(self, loses: int = 0) -> None:
        super().__init__(2)
        self.loses, self.most, self.futures = loses, 0, list[Future[Any]]()

    def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
        if self.loses:
            self.loses -= 1
            lost: Future[Any] = Future()
            lost.set_exception(BrokenExecutor())
            return lost
        self.futures.append(super().submit(run, task))
        return self.futures[-1]


def doubled(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("loses", [0, 3, 4])
def test_each_task_has_its_result_once(loses: int) -> None:
    with Counts(loses) as threads:
        found = sorted(handed_out(WorkersOf(threads, 2), doubled, range(20)))
    assert found == [(number, 2 * number) for number in range(20)]


def test_a_task_that_loses_every_worker_is_given_up() -> None:
    with Counts(100) as threads, pytest.raises(JobError, match="lost 5 times"):
        list(handed_out(WorkersOf(threads, 2), doubled, range(3)))


def test_what_a_task_raises_is_raised() -> None:
    with Counts() as threads, pytest.raises(ZeroDivisionError):
        list(handed_out(WorkersOf(threads, 2), lambda number: 1 // number, [0]))
