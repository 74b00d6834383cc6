"""Records: of each step the last run, its outcome and the last success; what they do not say is not known."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError

from kms.errors import KeyringError, SchemaVersionError
from kms.key_database import reading, writing
from kms.key_rows import moment_of, time_text
from kms.key_store import KeyStore
from kms.schema_version import check_schema_version, create_component
from vault.maintenance.record_tables import maintenance_table, metadata
from vault.maintenance.step import Outcome, Result, Step

__all__ = ["MaintenanceRecords", "Recorded"]

COMPONENT: Final = "maintenance"
SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """rows, seconds, goal: of the last run. succeeded_at: None if none ever did."""

    step: Step
    scope: str
    outcome: Outcome
    begun_at: datetime
    ended_at: datetime
    succeeded_at: datetime | None
    runs: int
    failures: int
    rows: int
    seconds: float
    goal: str

    @property
    def rate(self) -> float | None:
        """Rows a second; None where too little was done to tell."""
        return self.rows / self.seconds if self.rows > 0 and self.seconds > 0 else None


class MaintenanceRecords:
    """Of one keyring and one database. digest: the database's identity."""

    def __init__(self, key_store: KeyStore, keyring_id: bytes, digest: str) -> None:
        self._store = key_store
        self._place = {"keyring_id": keyring_id, "identity": digest}

    def now(self) -> datetime:
        return self._store.now()

    def read(self) -> Mapping[tuple[Step, str], Recorded]:
        """Empty where nothing was ever recorded. Makes no table. Raises: KmsError."""
        try:
            with reading(self._store.engine) as connection:
                check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
                rows = connection.execute(select(maintenance_table).filter_by(**self._place)).all()
        except SchemaVersionError:
            if inspect(self._store.engine).has_table(maintenance_table.name):
                raise
            return {}
        return {(one.step, one.scope): one for one in map(_from_row, rows)}

    def note(self, step: Step, scope: str, result: Result, begun: datetime) -> None:
        """Committed when this returns. Raises: KmsError."""
        self._create()
        try:
            self._write(step, scope, result, begun)
        except IntegrityError:  # another process was first
            self._write(step, scope, result, begun)

    def _create(self) -> None:
        try:
            with reading(self._store.engine) as connection:
                check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
        except SchemaVersionError:
            create_component(self._store.engine, COMPONENT, SCHEMA_VERSION, metadata.sorted_tables)

    def _write(self, step: Step, scope: str, result: Result, begun: datetime) -> None:
        table, ended = maintenance_table, self._store.now()
        place = self._place | {"step": step.value, "scope": scope}
        values: dict[str, Any] = {
            "outcome": result.outcome.value,
            "begun_at": time_text(begun),
            "ended_at": time_text(ended),
            "row_number": result.rows,
            "milliseconds": max(0, round((ended - begun).total_seconds() * 1000)),
            "goal": result.goal,
        }
        if result.outcome is Outcome.DONE:
            values["succeeded_at"] = time_text(ended)
        failed = int(result.outcome.is_failure)
        with writing(self._store.engine) as connection:
            found = connection.execute(select(table.c.runs, table.c.failures).filter_by(**place)).first()
            if found is None:
                connection.execute(insert(table).values(place | values | {"runs": 1, "failures": failed}))
                return
            this = [table.c[name] == value for name, value in place.items()]
            counts = {"runs": found.runs + 1, "failures": found.failures + failed}
            connection.execute(update(table).where(*this).values(values | counts))


def _from_row(row: Row[Any]) -> Recorded:
    try:
        succeeded = None if row.succeeded_at is None else moment_of(row.succeeded_at)
        return Recorded(
            Step(row.step),
            str(row.scope),
            Outcome(row.outcome),
            moment_of(row.begun_at),
            moment_of(row.ended_at),
            succeeded,
            int(row.runs),
            int(row.failures),
            int(row.row_number),
            int(row.milliseconds) / 1000,
            str(row.goal),
        )
    except (OverflowError, TypeError, ValueError):
        raise KeyringError(
            "a row of noisevault_maintenance makes no sense: it was changed by hand, delete it; the step is done again"
        ) from None
