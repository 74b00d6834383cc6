"""Two processes that do the same thing at the same moment."""

from collections.abc import Callable
from typing import Any

from tests.forkserver import PROCESSES

WITHIN_SECONDS = 60


def _run(work: Callable[..., Any], arguments: tuple[Any, ...], barrier: Any, results: Any) -> None:
    try:
        results.put(work(barrier.wait, *arguments))
    except Exception as error:
        results.put(error)


def race(work: Callable[..., Any], *arguments: Any, processes: int = 2) -> list[Any]:
    """What work(wait, *arguments) returns or raises in each process; wait() lets all go on at once."""
    barrier, results = PROCESSES.Barrier(processes, timeout=WITHIN_SECONDS), PROCESSES.Queue()
    running = [PROCESSES.Process(target=_run, args=(work, arguments, barrier, results)) for _ in range(processes)]
    for process in running:
        process.start()
    answers = [results.get(timeout=WITHIN_SECONDS) for _ in running]
    for process in running:
        process.join(WITHIN_SECONDS)
    return answers
