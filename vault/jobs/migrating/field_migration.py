"""Field migration: the operator's side of a migrating field: its mode is changed here, and its jobs are run so that
they prove what the next mode needs.

Forward: plaintext, dual-read-plaintext and backfill, dual-read-sealed, sealed-only and clear. Back: dual-read-sealed
and restore, dual-read-plaintext, plaintext. The database's guard follows: see pair_guard.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Column, Engine, inspect

from kms.utc_text import to_the_second
from vault.changeover.phase import Changeover, Phase
from vault.changeover.steps import Need, Next, place_of_proof
from vault.errors import ChangeoverError
from vault.jobs.job_store import JobState
from vault.jobs.migrating.backfill import Backfill
from vault.jobs.migrating.clear import Clear
from vault.jobs.migrating.pair_guard import PairGuard, PairRule, drop_pair_guard, guarded_by, make_pair_guard
from vault.jobs.migrating.restore import Restore
from vault.jobs.tally import Tally
from vault.jobs.work import Work
from vault.mapping.definitions import definition_of, plaintext_column
from vault.modes.mode import Mode
from vault.modes.recorded_modes import PLAINTEXT, SEALED, changeovers_of, mode_of, phase_of, subject_of_field
from vault.opened import OpenedVault

__all__ = ["FieldMigration", "Moved"]

# By a job: the mode that it runs in, what the database's guard holds meanwhile, the place it fills.
_JOBS: Final[dict[str, tuple[Mode, PairRule, str]]] = {
    "backfill": (Mode.DUAL_READ_PLAINTEXT, PairRule.PAIRED, SEALED),
    "restore": (Mode.DUAL_READ_SEALED, PairRule.MATCHED, PLAINTEXT),
    "clear": (Mode.SEALED_ONLY, PairRule.CLEARED, PLAINTEXT),
}
Run = Callable[[Work], Tally]
"""Runs the work of a job on the data's database, with the settings that the operator wants."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a job did, and whether that proves what the next mode needs. until: some process may write as in the mode
    before, which proves nothing yet. guarded: whether the database's guard stands, where it is proved.
    """

    tally: Tally
    proved: bool
    until: datetime | None
    guarded: bool = True


class FieldMigration:
    """Of one field on one database."""

    def __init__(self, column: "Column[Any]", opened: OpenedVault, engine: Engine) -> None:
        """column: the sealed one. Raises: SealedColumnError unless it migrates; DefinitionError, KmsError."""
        self.column = column
        self.plaintext = plaintext_column(column)
        self._definition = definition_of(column)
        self._opened = opened
        self._engine = engine
        opened.modes.mode(self._definition)  # which begins where nothing is recorded
        self.store = changeovers_of(opened.key_store, opened.keyring)
        self.subject = subject_of_field(self._definition)
        self._parts = [(self._definition.table, self._definition.column)]

    @property
    def label(self) -> str:
        return f"{self.column.table.name}.{self.column.name}"

    def find(self) -> Changeover | None:
        """As it stands now; None: the field is sealed-only, and its migration has ended."""
        return self.store.find(self.subject)

    def lease_over(self, changeover: Changeover) -> datetime:
        """From when on every process is in its mode."""
        return changeover.since + self.store.lease

    def change(self, to: Mode, *, who: str, why: str) -> Mode:
        """Go one step; gives the mode before. Raises: ChangeoverError, saying what it waits for and what to run."""
        changeover = self.find()
        now = mode_of(changeover)
        if to is now:
            return now
        if not to.is_beside(now):
            raise ChangeoverError(
                f"{self.label} is in mode {now.value}, from which no one step leads to {to.value}: the modes are"
                f" {', '.join(mode.value for mode in Mode)}, and processes may be one apart"
            )
        if changeover is None:
            changeover = self.store.begin(self.subject, PLAINTEXT, SEALED, Phase.NEW, who=who, why=why)
        may = self.store.may_step(self.subject, phase_of(to), self._parts)
        if not may.allowed:
            raise ChangeoverError(f"{self.label} stays in mode {now.value}: {self._awaited(may, to)}")
        self._require_guard(changeover, now, to)
        if to is Mode.SEALED_ONLY:
            self._require_nullable()
        self._suit_guard(to)
        self.store.step(self.subject, phase_of(to), self._parts, who=who, why=why)
        return now

    def backfill(self, run: Run, *, dry_run: bool = False) -> Moved:
        """Seal what stands in the plaintext column. Raises: ChangeoverError unless the mode is dual-read-plaintext."""
        return self._moved("backfill", Backfill, run, dry_run)

    def restore(self, run: Run, *, dry_run: bool = False) -> Moved:
        """Open into the plaintext column. Raises: ChangeoverError unless the mode is dual-read-sealed."""
        return self._moved("restore", Restore, run, dry_run)

    def clear(self, run: Run, *, who: str, why: str, dry_run: bool = False) -> Moved:
        """Null the plaintext; when that is proved, the migration ends. Raises: ChangeoverError unless sealed-only."""
        moved = self._moved("clear", Clear, run, dry_run)
        if moved.proved and self.find() is not None:
            self.store.end(self.subject, self._parts, who=who, why=why)
        return moved

    def drop_guard(self) -> None:
        """Take the database's guard away, which else keeps the plaintext column from being dropped."""
        drop_pair_guard(self._engine, self._guard(PairRule.CLEARED))

    def _moved(self, name: str, kind: type[Backfill | Restore | Clear], run: Run, dry_run: bool) -> Moved:
        """dry_run: run() rehearses, so that nothing is made or recorded here either."""
        wanted, rule, place = _JOBS[name]
        changeover = self.find()
        if mode_of(changeover) is not wanted:
            raise ChangeoverError(
                f"{name} is for mode {wanted.value}, and {self.label} is in {mode_of(changeover).value}: change it by"
                f" noisevault mode {self.label} --to {wanted.value} --reason '...'"
            )
        until = None if changeover is None else self.lease_over(changeover)
        is_over = until is None or datetime.now(UTC) > until
        proving = ""
        if dry_run:
            return Moved(run(kind(self.column, self._opened)), False, None)
        if is_over:
            # Every plaintext that is not NULL is counted as left, so that a clear proves itself.
            proving = self._guarded(rule, place) if name != "clear" else self._cleared()
        tally = run(kind(self.column, self._opened, proving=proving))
        proved = is_over and tally.outcome is JobState.COMPLETE
        if proved and changeover is not None:
            self.store.note(self.subject, self._parts[0], place, "empty" if name == "clear" else "complete")
        return Moved(tally, proved, None if is_over else until)

    def _awaited(self, may: Next, to: Mode) -> str:
        """What the step waits for, in words of modes, and what to run."""
        told = []
        if Need.LEASE in may.missing:
            told.append(f"a sealing lease since that mode began is over at {to_the_second(may.ready_at)}")
        if may.missing - {Need.LEASE}:
            job = "restore" if to is Mode.DUAL_READ_PLAINTEXT else "backfill"
            told.append(
                f"{to.value} needs the proof that both columns of every row say the same: noisevault {job} {self.label}"
                " --after-lease"
            )
        return "; ".join(told)

    def _guarded(self, rule: PairRule, place: str) -> str:
        """Make the guard, and say since when it is there: a proof covers what was written before, by its whole walk.

        Where it was lost, such as with a table that was made anew, what was found before is so no more.
        """
        guard, (part,) = self._guard(rule), self._parts
        if rule not in guarded_by(self._engine, guard):
            self.store.withdraw(self.subject, place)
        make_pair_guard(self._engine, guard)
        since = self.store.guarded_at(self.subject, part, place)
        if since is None:
            self.store.note(self.subject, part, place, "guarded")
            since = self.store.guarded_at(self.subject, part, place)
        return str(since)

    def _cleared(self) -> str:
        make_pair_guard(self._engine, self._guard(PairRule.CLEARED))
        return PairRule.CLEARED.value

    def _require_guard(self, changeover: Changeover, now: Mode, to: Mode) -> None:
        """What was proved is so for as long as the guard is there. Raises: ChangeoverError where it is gone."""
        if (now, to) == (Mode.DUAL_READ_PLAINTEXT, Mode.DUAL_READ_SEALED):
            place, enough = SEALED, {PairRule.PAIRED, PairRule.MATCHED}
        elif place_of_proof(changeover, phase_of(to)) == PLAINTEXT:
            place, enough = PLAINTEXT, {PairRule.MATCHED}
        else:
            return
        if not guarded_by(self._engine, self._guard(PairRule.PAIRED)) & enough:
            self.store.withdraw(self.subject, place)
            raise ChangeoverError(
                f"{self.label} stays in mode {now.value}: the trigger is gone that refuses one column without the"
                f" other, so that rows may have been written since they were looked at{self._remedy(now, to)}"
            )

    def _remedy(self, now: Mode, to: Mode) -> str:
        if (now, to) == (Mode.DUAL_READ_PLAINTEXT, Mode.DUAL_READ_SEALED):
            return f"; noisevault backfill {self.label} sees to both"
        if (now, to) == (Mode.DUAL_READ_SEALED, Mode.DUAL_READ_PLAINTEXT):
            return f"; noisevault restore {self.label} sees to both"
        return ""

    def _require_nullable(self) -> None:
        table = self.column.table
        found = {c["name"]: c for c in inspect(self._engine).get_columns(table.name, schema=table.schema)}
        if not found[self.plaintext.name]["nullable"]:
            raise ChangeoverError(
                f"{table.name}.{self.plaintext.name} is NOT NULL in the database, and is not written in mode"
                " sealed-only: first drop that, as by op.alter_column(nullable=True)"
            )

    def _guard(self, rule: PairRule) -> PairGuard:
        return PairGuard(self.column.table, self.plaintext.name, self.column.name, rule)

    def _suit_guard(self, to: Mode) -> None:
        """What a process writes in the mode must pass; where there is no guard, none is made."""
        paired = self._guard(PairRule.PAIRED)
        there = guarded_by(self._engine, paired)
        if to is Mode.PLAINTEXT and there:
            drop_pair_guard(self._engine, paired)
        elif to.reads_sealed and there - {PairRule.PAIRED}:
            make_pair_guard(self._engine, paired)
