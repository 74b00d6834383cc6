"""Late writer: a service that seals by the key of its time and is stopped before its row is there, or committed."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from sqlalchemy import event, insert
from sqlalchemy.exc import DBAPIError

from tests.flows.faults.visits import PROCESSES, Place, first_state, row

REFUSED = 7
LATE = 1000


def _write(place: Place, holding: Path, sealed_only: bool) -> None:
    """In the other process. sealed_only: the statement has its sealed values, and has not reached the database yet."""
    with place.opened() as (engine, table, _vault):

        def stop(*_: Any) -> None:
            holding.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(0.3)  # a thread may go on for a moment before the system stops it

        if sealed_only:
            event.listen(engine, "before_cursor_execute", stop, once=True)
        try:
            with engine.begin() as connection:
                connection.execute(insert(table).values(row(LATE, first_state(LATE))))
                if not sealed_only:
                    stop()
        except DBAPIError as error:
            if "by a retired key" in str(error.orig):
                os._exit(REFUSED)
            raise


@dataclass
class LateWriter:
    """woken: lets it go on, and gives how it ended: 0 committed, REFUSED by the database."""

    process: ForkServerProcess

    def woken(self) -> int:
        end = time.monotonic() + 60
        while self.process.is_alive() and time.monotonic() < end:
            os.kill(self.process.pid or 0, signal.SIGCONT)  # it may not have been asleep yet
            self.process.join(0.1)
        assert self.process.exitcode is not None
        return self.process.exitcode


@contextmanager
def late_writer(place: Place, *, sealed_only: bool) -> Iterator[LateWriter]:
    holding = place.folder / "holding"
    process = PROCESSES.Process(target=_write, args=(replace(place, refresh=False), holding, sealed_only), daemon=True)
    process.start()
    try:
        end = time.monotonic() + 60
        while not holding.exists():
            assert time.monotonic() < end
            assert process.is_alive()
            time.sleep(0.01)
        yield LateWriter(process)
    finally:
        process.kill()
        process.join()
