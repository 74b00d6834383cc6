"""Maintenance context: what every look at what is due takes: project, records, and how long work takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Table, func, select

from kms import KeyRecord
from vault.databases.database_identity import identity_of
from vault.jobs.events import Event
from vault.jobs.job_settings import JobSettings
from vault.maintenance.records import MaintenanceRecords, Recorded
from vault.maintenance.step import Step
from vault.mapping.definitions import sealed_columns
from vault.policy.maintenance import Maintenance
from vault.project import Project

__all__ = ["SHORT", "MaintenanceContext", "maintenance_records"]

# Ours, in seconds: what a few statements and calls of the key service may take.
SHORT: Final = 10.0
# Ours, in rows a second and low: what is reckoned with until a run has shown how fast it is.
ASSUMED_RATE: Final = {Step.REENCRYPT: 2_000.0, Step.VERIFY: 2_000.0}
COUNTED_RATE: Final = 200_000.0


@dataclass(frozen=True, slots=True)
class MaintenanceContext:
    """notify: is told the events of jobs. settings: of the job that re-encrypts."""

    project: Project
    records: MaintenanceRecords
    notify: Callable[[Event], None]
    settings: JobSettings = field(default_factory=JobSettings)

    @property
    def rules(self) -> Maintenance:
        return self.project.policy.maintenance

    @property
    def tables(self) -> list[Table]:
        """Those with sealed columns."""
        return [table for table in self.project.tables.values() if sealed_columns(table)]

    @property
    def keys(self) -> list[KeyRecord]:
        """Of the policy's keyring, as the store has them now."""
        return list(self.project.opened.keyring.records())

    def last(self, step: Step, scope: str) -> Recorded | None:
        return self.records.read().get((step, scope))

    def rows(self, table: Table) -> int:
        """A scan, for what is due already."""
        with self.project.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(table)) or 0

    def seconds(self, step: Step, scope: str, rows: int) -> float:
        """An estimate, by the rate of the last run if there was one."""
        last = self.last(step, scope)
        rate = None if last is None else last.rate
        return SHORT + rows / (ASSUMED_RATE.get(step, COUNTED_RATE) if rate is None else rate)


def maintenance_records(project: Project) -> MaintenanceRecords:
    """Of the policy's keyring and database. Raises: KeyInUseError for a database in memory."""
    opened = project.opened
    return MaintenanceRecords(opened.key_store, opened.keyring.id, identity_of(project.engine).digest)
