"""Key clearing: what a command does before a key goes: this database is cleared of it, and all others have to be."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NoReturn

import typer
from rich.console import Console
from sqlalchemy import Table

from kms import KeyRecord, KeyringState, KeyState, Purpose
from vault.cli.job_ending import end_with, say_tally
from vault.cli.job_keys import job_keys
from vault.cli.retirement_wait import RetirementWait
from vault.cli.running_jobs import running_jobs
from vault.cli.still_needed import StillNeeded
from vault.databases.database_identity import DatabaseIdentity, identity_of
from vault.databases.database_register import DatabaseRegister, RegisteredDatabase
from vault.errors import KeyInUseError, NotClearedError
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.reencrypt import Reencrypt
from vault.mapping.definitions import sealed_columns
from vault.project import Project
from vault.retirement.clearances import Clearances
from vault.retirement.clearing import Clearing
from vault.retirement.refused_keys import refuse_keys, refused_keys
from vault.retirement.row_security import require_all_rows
from vault.rows.key_uses import KeyUse
from vault.triggers.patient_ddl import PATIENCE

__all__ = ["NOT_CLEARED", "KeyClearing", "end_with_not_cleared"]

# Exit status: done here, and not yet in every database of the keyring.
NOT_CLEARED = 3
ENDED: Final = frozenset({KeyState.RETIRED, KeyState.DESTROYED})


@dataclass(frozen=True, slots=True)
class KeyClearing:
    """Of a project's database. reencrypt: move what names the key by a job. patience: seconds, as of Clearing.

    wait: for how long a key is to wait once it is retired, as this database needs it; None where it is destroyed.
    """

    project: Project
    reencrypt: bool = False
    patience: float = PATIENCE
    settings: JobSettings = field(default_factory=JobSettings)
    wait: timedelta | None = None

    def require_cleared(self, record: KeyRecord, since: datetime) -> None:
        """Clear this database; then every other that is registered must be, since then.

        One that never sealed, as the key store has it, is counted in each and nothing else: a trigger against a key
        whose turn to seal comes later would refuse every write. A key store that was put back may have forgotten it.
        A ledger key that had its turn stays: no trigger guards a ledger, and another policy's is not seen from here.
        Raises: KeyInUseError, NotClearedError; typer.Exit when a signal stopped the job.
        """
        needed = StillNeeded(self.project)
        comes_later = self._state.has_turn_to_come(record)
        if record.purpose is Purpose.LEDGER:
            needed.refuse_used(record)
            if comes_later:
                return
            raise KeyInUseError(
                f"ledger key {record.key_id.hex()} was active: the ledger of another policy, or a process that sleeps,"
                " may have entries and answers by it, which nobody reads without it, so the key stays"
            )
        opened = self.project.opened
        clearances = Clearances(opened.key_store, record.keyring_id)
        identity = identity_of(self.project.engine)
        DatabaseRegister(opened.key_store).see(record.keyring_id, identity)
        if comes_later:
            for table in self._tables:
                require_all_rows(self.project.engine, table)
            begun = clearances.now()
            needed.refuse_used(record)
            clearances.note(identity.digest, record.key_id, begun, 0)
        else:
            self._clearing(needed, record, identity, clearances).clear(record)
        missing = self.missing(record, since)
        if missing:
            raise NotClearedError(record.key_id, tuple((one.name, one.place) for one in missing))

    def wait_with_others(self, key_id: bytes, wait: RetirementWait) -> RetirementWait:
        """Of a key that is to be retired: no shorter than what any other database was cleared with."""
        record = self._state.find(key_id)
        if record is None:
            return wait  # which is refused
        here = identity_of(self.project.engine).digest
        clearances = Clearances(self.project.opened.key_store, record.keyring_id)
        longest = clearances.longest_wait(key_id, record.changed_at, but=here)
        return wait if longest is None else wait.at_least(longest[0], longest[1].place)

    def missing(self, record: KeyRecord, since: datetime) -> list[RegisteredDatabase]:
        """The databases in which the key may be needed still."""
        clearances = Clearances(self.project.opened.key_store, record.keyring_id)
        return clearances.missing(record.key_id, since, unguarded=self._state.has_turn_to_come(record))

    def require_wait(self, record: KeyRecord, wait: RetirementWait) -> None:
        """Raises: KeyInUseError where another database was cleared meanwhile, to wait for longer."""
        if self.wait_with_others(record.key_id, wait) != wait:
            raise KeyInUseError(
                f"another database was cleared of {record.purpose} key {record.key_id.hex()} meanwhile, to wait for"
                " longer: type the same command again"
            )

    def _clearing(
        self, needed: StillNeeded, record: KeyRecord, identity: DatabaseIdentity, clearances: Clearances
    ) -> Clearing:
        return Clearing(
            self.project.engine,
            self._tables,
            identity,
            clearances,
            needed.uses,
            lambda found: self._move(needed, record, found),
            self._cleared_before(clearances, identity.digest),
            self.patience,
            self.wait,
        )

    def unrefused(self) -> list[tuple[Table, frozenset[bytes]]]:
        """The tables that let in keys which ended and were cleared here: made anew, a table has lost its triggers."""
        if all(record.state not in ENDED for record in self._state.records):
            return []
        opened, engine = self.project.opened, self.project.engine
        clearances = Clearances(opened.key_store, opened.keyring.id)
        keys = frozenset(self._cleared_before(clearances, identity_of(engine).digest))
        lacking = [(table, keys - refused_keys(engine, table)) for table in self._tables] if keys else []
        return [(table, gone) for table, gone in lacking if gone]

    def refuse_again(self) -> list[str]:
        """Make those triggers anew, and give the tables. Raises: KeyInUseError."""
        found = self.unrefused()
        for table, gone in found:
            refuse_keys(self.project.engine, table, gone, self.patience)
        return [table.fullname for table, _ in found]

    @property
    def _state(self) -> KeyringState:
        keyring = self.project.opened.keyring
        return KeyringState(keyring.id, keyring.name, tuple(keyring.records()))

    @property
    def _tables(self) -> list[Table]:
        return [table for table in self.project.tables.values() if sealed_columns(table)]

    def _cleared_before(self, clearances: Clearances, digest: str) -> list[bytes]:
        """Keys that seal no more and that were cleared here: their triggers may have gone with a table made anew."""
        state = self._state
        known = {one.key_id: one for one in state.records}
        return [
            key_id
            for (where, key_id), scan in clearances.scans().items()
            if where == digest
            and scan.cleared_at is not None
            and key_id in known
            and known[key_id].state in ENDED
            and not state.has_turn_to_come(known[key_id])
        ]

    def _move(self, needed: StillNeeded, record: KeyRecord, found: Sequence[KeyUse]) -> None:
        """By a job, as `noisevault reencrypt`. Raises: KeyInUseError where none is wanted, or none moves it."""
        if not self.reencrypt or record.purpose is not Purpose.DATA:
            needed.refuse(record, found)
        console, project = Console(), self.project
        with running_jobs(console) as around:
            for table in self._tables:
                if any(use.where.startswith(f"{table.fullname}.") for use in found) and not around.stop.is_set():
                    with job_keys(project, table, tenants=False) as keys:
                        work = Reencrypt.of(table, keys, lease=project.policy.vault.sealing_lease)
                        tally = Job(work, project.engine, self.settings, notify=around.notify, stop=around.stop).run()
                    say_tally(console, tally, project.active_data_key_id)
            stopped = around.stop.is_set()
        end_with([], stopped=stopped)


def end_with_not_cleared(
    error: NotClearedError, record: KeyRecord, command: str, keyring: str, options: str = ""
) -> NoReturn:
    """Say which databases are missing and what to type for each. options: as typed here, with a space before each.

    Raises: typer.Exit with status 3.
    """
    console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    key_id = record.key_id.hex()
    console.print(f"{record.purpose} key {key_id} stays as it is: it may be needed in other databases of {keyring}.")
    words = f"{command} {key_id} --confirm {keyring}{options}"
    for name, place in error.databases:
        console.print(f"  {place}")
        console.print(f"    with the policy that names it: noisevault keys {words}")
        console.print(f"    if it is no more: noisevault keys forget-database {name} --confirm {keyring}")
    raise typer.Exit(NOT_CLEARED)
