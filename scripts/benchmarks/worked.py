"""Worked: what one piece of work on a table took: how long, whose processor time, how much memory and log."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Worked", "Works"]


@dataclass(frozen=True, slots=True)
class Worked:
    """seconds: by the wall clock. client, server: processor seconds of all processes of either.

    peak_mib: the most memory that one process of the client had; 0 where it was not measured. wal_mib: of the log.
    table_mib, index_mib: their sizes afterwards. load: the load average of the minute, at the end.
    """

    rows: int
    work: str
    seconds: float
    client: float
    server: float
    peak_mib: int
    wal_mib: int
    table_mib: int
    index_mib: int
    load: float

    @property
    def rows_a_second(self) -> int:
        return round(self.rows / self.seconds)


@dataclass(frozen=True, slots=True)
class Works:
    """Pieces of work that are done one after the other on one table."""

    each: Callable[[], Iterator[Worked]]

    def run(self) -> Iterator[Worked]:
        return self.each()
