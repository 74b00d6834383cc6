"""Look-ups that go on: a thread that finds people by identity number while a job rewrites the table."""

import threading
from collections.abc import Sequence
from itertools import cycle
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Engine, Table, select

# Ours: without a pause this thread keeps the interpreter's lock, and the job beside it waits for it at every row.
PAUSE_SECONDS: Final = 0.005


class LookupsMeanwhile:
    """A context in which look-ups run one after another; afterwards `done` and `wrong` count them."""

    def __init__(self, engine: Engine, table: Table, identities: Sequence[tuple[int, str]]) -> None:
        """identities: person ids and the identity numbers to find them by."""
        self.done = 0
        self.wrong = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(engine, table, identities))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self, engine: Engine, table: Table, identities: Sequence[tuple[int, str]]) -> None:
        for person, identity in cycle(identities):
            if self._stop.wait(PAUSE_SECONDS):
                return
            statement = select(table.c.person, table.c.year, table.c.national_id)
            with engine.connect() as connection:
                rows = connection.execute(statement.where(table.c.national_id == identity)).all()
            self.done += 1
            self.wrong += not rows or any(row.person != person or row.national_id != identity for row in rows)
