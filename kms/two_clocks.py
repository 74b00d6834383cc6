"""Two clocks: this machine's and the database's, of which either may be wrong.

What happens is dated by the later one, and a wait is over when the earlier one says so: so no wait is cut short
because one machine's clock is ahead, or was behind when the wait began. A wait may become longer by as much.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, text

from kms.utc_text import to_the_second

__all__ = ["TwoClocks", "read_clocks"]

# The clock itself where there is such a function, not the moment at which the transaction began to wait for a lock.
QUESTIONS: Final = {
    "sqlite": text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')"),  # the same machine's
    "postgresql": text("SELECT clock_timestamp()"),
    "mysql": text("SELECT UTC_TIMESTAMP(6)"),
}


@dataclass(frozen=True, slots=True)
class TwoClocks:
    """What both say at one moment, in UTC."""

    machine: datetime
    database: datetime

    @property
    def later(self) -> datetime:
        """What happens now is dated by this."""
        return max(self.machine, self.database)

    @property
    def earlier(self) -> datetime:
        """A wait is over when this is past its end."""
        return min(self.machine, self.database)

    def __str__(self) -> str:
        return f"this machine's clock says {to_the_second(self.machine)}, the database's {to_the_second(self.database)}"


def read_clocks(connection: Connection, machine: datetime) -> TwoClocks:
    """machine: what this machine's clock says. Raises: as any statement."""
    name = "mysql" if connection.dialect.name == "mariadb" else connection.dialect.name
    said = connection.execute(QUESTIONS[name]).scalar_one()
    moment = datetime.fromisoformat(said) if isinstance(said, str) else said
    return TwoClocks(machine.astimezone(UTC), _utc(moment))


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
