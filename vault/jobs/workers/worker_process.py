"""Worker process: how a process of the pool behaves: who may stop it, and what it does when its parent is gone.

Ctrl-C reaches the whole group of a terminal, and a service manager's SIGTERM all processes of a service: the parent
decides, and the workers hear it by the job's row. A worker that is ended alone finishes the batch in hand first.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from vault.jobs.collector import rare_collections
from vault.jobs.workers.kept_open import sessions

__all__ = ["begin_worker_process", "stop_of_this_process", "working"]

# Ours: seconds that a worker has for the batch in hand when it is to end.
LAST_SECONDS: Final = 10.0
_STOP: Final = threading.Event()
_AT_REST: Final = threading.Event()
_AT_REST.set()
_FOR_GOOD: Final = rare_collections()


def begin_worker_process() -> None:
    """The initializer of a process pool, in the main thread of a fresh process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _asked_to_end)
    _FOR_GOOD.__enter__()  # it does nothing else until it ends
    threading.Thread(target=_outlive_nobody, name="noisevault parent", daemon=True).start()


def stop_of_this_process() -> threading.Event:
    """Set when what is in hand is to end after its batch. In a process that is no pool's, never."""
    return _STOP


@contextmanager
def working() -> Iterator[None]:
    """Within, there is something in hand."""
    _AT_REST.clear()
    try:
        yield
    finally:
        _AT_REST.set()


def _asked_to_end(_number: int, _frame: Any) -> None:
    threading.Thread(target=_end, name="noisevault end", daemon=True).start()


def _outlive_nobody() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _end()


def _end() -> None:
    """The pool takes an ended process for lost, and the part in hand is done again from its checkpoint."""
    _STOP.set()
    if _AT_REST.wait(LAST_SECONDS):
        sessions().end()
    os._exit(128 + signal.SIGTERM)
