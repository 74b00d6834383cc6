"""Work: what a job does to the rows of one table. It reads and writes nothing itself: the engine does, for all jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, Table

from vault.jobs.change import Change, Failed

__all__ = ["BatchWriter", "Leased", "OverlooksRows", "Rehearses", "Work"]


class Work(Protocol):
    """A row has the primary key as the driver gives it, and `reads` as they are declared (see stored_key.py)."""

    @property
    def name(self) -> str:
        """Of the kind of job, such as "reencrypt"; with the table the name of the job."""
        ...

    @property
    def goal(self) -> str:
        """What the rows are brought to, as one word: a checkpoint on the way to another goal is not used."""
        ...

    @property
    def table(self) -> Table:
        """With stored bytes and stored keys: made by job_table()."""
        ...

    @property
    def reads(self) -> Sequence[str]:
        """Columns read beside the primary key."""
        ...

    @property
    def compares(self) -> Sequence[str]:
        """Of these, the source columns: a row is written only if each still holds, byte for byte, what was read.

        The engine reads them as they are stored too, and compares that (compared.py), of whatever type they are.
        """
        ...

    @property
    def sets(self) -> Sequence[str]:
        """Columns that a change sets."""
        ...

    def refresh(self) -> None:
        """Read anew, before each pass, what the goal depends on, such as which key is active. Raises: KmsError."""
        ...

    def renew(self, rows: Sequence[RowMapping]) -> tuple[Sequence[Change], list[Failed]]:
        """What the rows of a page become, in memory; a row that is not due is in neither.

        Raises: KmsError when the keys cannot be had; no row is to blame for that.
        """
        ...

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        """All rows of the table for which `within` is true, counted as `rows`, by what tells whether they are done."""
        ...

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        """By column, why the rows of a group are not as the job leaves them; empty if they are."""
        ...


@runtime_checkable
class Rehearses(Protocol):
    """The work can tell what it would do, without what doing it costs, such as counted seals."""

    def rehearse(self, rows: Sequence[RowMapping]) -> tuple[int, list[Failed]]:
        """How many rows renew() would change, and what it would leave."""
        ...


@runtime_checkable
class Leased(Protocol):
    """What the work undoes may be done again by services for a while, such as by the sealing lease."""

    def unsafe_seconds(self) -> float:
        """For how long from now; 0 if not."""
        ...


@runtime_checkable
class OverlooksRows(Protocol):
    """A row may look done to unfinished() and not be: only opening it tells."""

    def may_overlook(self) -> bool:
        """If so, a run whose last pass missed a row is not proved by the count alone."""
        ...


class BatchWriter(Protocol):
    """Made for one work: its table, and the columns that it compares and sets."""

    def write(self, connection: Connection, changes: Sequence[Change]) -> list[bool]:
        """Within the caller's transaction: which changes were made, in order.

        A row that is locked, gone or no longer as it was read is not changed.
        Raises: DBAPIError; the caller rolls back.
        """
        ...
