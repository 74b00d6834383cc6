"""Index steps: takes one index through its changeover, as far as it can go now; and back again.

Each call looks where the changeover stands, so it may be killed anywhere and called again. What has to be waited for
is told, not waited for.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Engine, Table, delete, select

from kms.key_database import reading
from kms.locked_keyring import LockedKeyring, locked
from vault.changeover.guard import drop_guard, is_guarded, make_guard, wait_for_writers
from vault.changeover.phase import NOWHERE, Changeover, Phase, Subject
from vault.changeover.steps import Need, Next, left_by, place_of_proof
from vault.changeover.store import ChangeoverStore, Part
from vault.changeover.tables import is_of
from vault.definitions.definition_tables import index_slot_table
from vault.errors import NoSuchStepError
from vault.index.slot_storage import drop_slot_index, index_slot_column
from vault.jobs.job_store import JobState
from vault.jobs.reindexing.index_member import Member
from vault.jobs.reindexing.index_work import emptying, filling, require_left
from vault.jobs.reindexing.slot_move import guarded_columns, slot_length
from vault.jobs.reindexing.standing import Standing
from vault.jobs.tally import Tally
from vault.jobs.work import Work

__all__ = ["IndexSteps"]

STOPPED: Final = "stopped before the end; go on by the same command"
NOT_DEPLOYED: Final = (
    "it goes on when every service runs the code that declares the index, since older code cannot write its terms and"
    " is refused from then on: run it again with --deployed"
)
REMOVED: Final = (
    "the definition without the index is recorded, so that services may run that write no terms: go on to the end, and"
    " then declare it as a new index, with the next generation"
)


@dataclass(slots=True)
class IndexSteps:
    """members: those that this command knows the tables of; a shared index may have others, whose command runs too.

    parts: all in which the index changes, as the key store knows. run: does a work by the engine of jobs. refresh:
    has the keyring ask the key store anew. deployed: whether every service runs the code that declares an index that
    is added. on_removal: records the definition without the index, in the transaction of the step.
    """

    changeovers: ChangeoverStore
    subject: Subject
    members: Sequence[Member]
    parts: Iterable[Part]
    engine: Engine
    run: Callable[[Work], Tally]
    refresh: Callable[[], None]
    who: str
    deployed: bool = False
    on_removal: Callable[[LockedKeyring], None] = lambda _: None
    _tallies: list[Tally] = field(default_factory=list)

    def forward(self) -> Standing:
        """Towards the new place. Raises: ChangeoverError, KmsError, JobError."""
        return self._go(self._forward)

    def back(self) -> Standing:
        """Towards the old place, and out of the changeover. Raises: as forward."""
        return self._go(self._back)

    def _go(self, once: Callable[[Changeover], str | Next]) -> Standing:
        self._tallies = []
        while True:
            self.refresh()
            now = self.changeovers.find(self.subject)
            if now is None:
                return Standing(None, tallies=tuple(self._tallies))
            try:
                waits = once(now)
            except NoSuchStepError:
                if self.changeovers.find(self.subject) == now:
                    raise
                continue  # somebody else moved it meanwhile
            if isinstance(waits, Next):
                only_time = waits.missing == {Need.LEASE}
                return Standing(now, str(waits), waits.ready_at if only_time else None, tuple(self._tallies))
            if waits:
                return Standing(now, waits, tallies=tuple(self._tallies))

    def _forward(self, now: Changeover) -> str | Next:
        match now.phase:
            case Phase.OLD:
                self._store(now.new)
                return self._step(now, Phase.DUAL_ASK_OLD)
            case Phase.DUAL_ASK_OLD:
                self._store(now.new)
                return self._complete(now, Phase.DUAL_ASK_NEW) or self._step(now, Phase.DUAL_ASK_NEW)
            case Phase.DUAL_ASK_NEW:
                waits = self.changeovers.may_step(self.subject, Phase.NEW, self.parts)
                if not waits.allowed:
                    return waits
                self._unguard(now, now.old)
                return self._step(now, Phase.NEW)
            case Phase.NEW:
                return self._end(now)

    def _back(self, now: Changeover) -> str | Next:
        match now.phase:
            case Phase.OLD:
                return self._end(now)
            case Phase.DUAL_ASK_OLD:
                waits = self.changeovers.may_step(self.subject, Phase.OLD, self.parts)
                if not waits.allowed:
                    return waits
                self._unguard(now, now.new)
                return self._step(now, Phase.OLD)
            case Phase.DUAL_ASK_NEW:
                self._store(now.old)
                return self._complete(now, Phase.DUAL_ASK_OLD) or self._step(now, Phase.DUAL_ASK_OLD)
            case Phase.NEW if now.new == NOWHERE:
                return REMOVED
            case Phase.NEW:
                self._store(now.old)  # whoever ended may have dropped it and died
                return self._step(now, Phase.DUAL_ASK_NEW)

    def _step(self, now: Changeover, to: Phase) -> str | Next:
        store = self.changeovers
        waits = store.may_step(self.subject, to, self.parts)
        if not waits.allowed:
            return waits if waits.missing == {Need.LEASE} else self._lacking(waits)
        with locked(store.key_store.engine, store.keyring_id, store.key_store.now()) as keyring:
            store.step_in(
                keyring, self.subject, to, self.parts, who=self.who, why=f"by command, from phase {now.phase}"
            )
            if to is Phase.NEW and now.new == NOWHERE:
                self.on_removal(keyring)
        self.refresh()
        return ""

    def _lacking(self, waits: Next) -> str:
        """Tables of other databases or policies have to be brought as far."""
        known = {member.part for member in self.members}
        others = [".".join(part) for part in self.parts if part not in known]
        where = f"; run this command for {', '.join(others)} as well" if others else ""
        return f"{waits}{where}"

    def _complete(self, now: Changeover, to: Phase) -> str | Next:
        """Bring every row to have the place that the step would ask, and prove it; what that waits for."""
        place = place_of_proof(now, to)
        if place is None:
            return self._complete_again(now, to)
        short = self._fill(place)
        waits = self.changeovers.may_step(self.subject, to, self.parts)
        # Until the lease is over, services that have not heard of the phase write rows without a term: no harm is done.
        harmless = all(tally.outcome is JobState.INCOMPLETE and not tally.failed for tally in short)
        if Need.LEASE in waits.missing and harmless:
            return Next(frozenset({Need.LEASE}), waits.ready_at)
        if short:
            return _lacking_terms(short)
        if now.old == NOWHERE and not self.deployed:
            return NOT_DEPLOYED
        if waits.missing or not self._is_guarded(now, place):
            return self._prove(now, place)
        return ""

    def _complete_again(self, now: Changeover, to: Phase) -> str | Next:
        """A step that is taken back needs no proof, but where a command took the guard away to go back further."""
        if to is not Phase.DUAL_ASK_NEW or now.new == NOWHERE or self._is_guarded(now, now.new):
            return ""
        ready_at = now.since + self.changeovers.lease
        if datetime.now(UTC) < ready_at:
            return Next(frozenset({Need.LEASE}), ready_at)
        return self._prove(now, now.new)

    def _prove(self, now: Changeover, place: str) -> str:
        self.changeovers.withdraw(self.subject, place, [member.part for member in self.members])
        for member in self.members:
            self._guard(member, now, place)
            self.changeovers.note(self.subject, member.part, place, "guarded")
        short = self._fill(place)  # what was written while the guards were made
        if short:
            return _lacking_terms(short)
        for member in self.members:
            self.changeovers.note(self.subject, member.part, place, "complete")
        return ""

    def _fill(self, place: str) -> list[Tally]:
        """Of the tables in which rows are left without it, or that were not done to the end."""
        self.refresh()
        tallies = [self._ran(filling(members, place, self.refresh)) for members in self._by_table()]
        return [tally for tally in tallies if tally.outcome is not JobState.COMPLETE]

    def _end(self, now: Changeover) -> str | Next:
        place = left_by(now)
        waits = self.changeovers.may_end(self.subject, self.parts)
        if Need.LEASE in waits.missing:
            return Next(frozenset({Need.LEASE}), waits.ready_at)
        if place != NOWHERE and Need.EMPTY in waits.missing:
            for members in self._by_table():
                work = emptying(members, place, lambda: require_left(self.changeovers, self.subject, place))
                if self._ran(work).outcome is not JobState.COMPLETE:
                    return "rows still have a term in the slot that is left: run it again"
            for member in self.members:
                self.changeovers.note(self.subject, member.part, place, "empty")
            waits = self.changeovers.may_end(self.subject, self.parts)
            if not waits.allowed:
                return self._lacking(waits)
        for each in {now.old, now.new} - {NOWHERE}:
            for member in self.members:
                drop_guard(self.engine, member.guard(each))
        for member in self.members if place != NOWHERE and not self._is_used_by_others(place) else ():
            drop_slot_index(self.engine, member.table.schema, member.table.name, member.move(place).term_column)
        store = self.changeovers
        with locked(store.key_store.engine, store.keyring_id, store.key_store.now()) as keyring:
            store.end_in(keyring, self.subject, self.parts, who=self.who, why="by command")
            if place != NOWHERE:
                slot, this = index_slot_table.c, is_of(index_slot_table, self.subject)
                keyring.connection.execute(
                    delete(index_slot_table).where(slot.keyring_id == store.keyring_id, this, slot.slot == place)
                )
        self.refresh()
        return ""

    def _is_used_by_others(self, place: str) -> bool:
        """Whether another keyring, such as another tenant's, has its terms of the same table in this slot."""
        slot, this = index_slot_table.c, is_of(index_slot_table, self.subject)
        others = select(slot.keyring_id).where(slot.keyring_id != self.changeovers.keyring_id, this, slot.slot == place)
        with reading(self.changeovers.key_store.engine) as connection:
            return connection.execute(others).first() is not None

    def _store(self, place: str) -> None:
        """The database index of a slot is there before anything is written to it."""
        for member in self.members if place != NOWHERE else ():
            column, length = member.move(place).term_column, slot_length(member.serving(), member.move(place))
            index_slot_column(
                self.engine, member.table.schema, member.table.name, column, unique=member.unique, length=length
            )

    def _guard(self, member: Member, now: Changeover, place: str) -> None:
        given = self._given(member, now, place)
        if given:
            make_guard(self.engine, member.guard(place, given))
        else:
            wait_for_writers(self.engine, member.table.schema, member.table.name)

    def _is_guarded(self, now: Changeover, place: str) -> bool:
        """Whether no guard was lost since it was noted, such as with a table that was made anew."""
        guards = [(member, self._given(member, now, place)) for member in self.members]
        return all(is_guarded(self.engine, member.guard(place, given)) for member, given in guards if given)

    def _given(self, member: Member, now: Changeover, place: str) -> tuple[str, ...]:
        """What tells that a row needs the place; nothing where no trigger can tell."""
        other = now.old if place == now.new else now.new
        other_move = None if other == NOWHERE else member.move(other)
        return guarded_columns(member.serving(), member.move(place), other_move)

    def _unguard(self, now: Changeover, place: str) -> None:
        """Before writers may leave the place out."""
        if place == NOWHERE or place not in now.written:
            return
        self.changeovers.withdraw(self.subject, place)
        for member in self.members:
            drop_guard(self.engine, member.guard(place))

    def _by_table(self) -> list[list[Member]]:
        """All columns of one table are done in one pass."""
        tables: dict[Table, list[Member]] = {}
        for member in self.members:
            tables.setdefault(member.table, []).append(member)
        return list(tables.values())

    def _ran(self, work: Work) -> Tally:
        tally = self.run(work)
        self._tallies.append(tally)
        return tally


def _lacking_terms(short: Sequence[Tally]) -> str:
    """How many rows are left in each table, and why."""
    if any(tally.outcome is JobState.STOPPED for tally in short):
        return STOPPED
    told = []
    for tally in short:
        if tally.remaining:
            why = ", ".join(f"{number} {reason}" for reason, number in tally.left) or "for no reason that was seen"
            told.append(f"{tally.remaining} rows of {tally.table} are left without a term ({why}): run it again")
        if tally.failed:
            told.append(f"{tally.failed} rows of {tally.table} cannot have one: see noisevault jobs failed")
    return "; ".join(told)
