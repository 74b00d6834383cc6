"""Interrupting: Ctrl-C, or a service manager's SIGTERM, asks a job to end after the batch in hand."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["stops_on_signals"]

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stops_on_signals() -> Iterator[threading.Event]:
    """Give an event that the first such signal sets; the second does what it did before: it ends the process."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # signals reach the main thread alone
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def asked(_number: int, _frame: Any) -> None:
        stop.set()
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in SIGNALS:
        signal.signal(number, asked)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
