"""Changeover store: phases are begun, changed and ended here, by commands only, each change with who and why.

Every change is made in a transaction that is alone in changing the keyring, by the two clocks of the key store.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, Literal

from sqlalchemy import Connection, Table, and_, delete, false, insert, or_, select, update

from kms.key_database import reading
from kms.key_rows import time_text
from kms.key_store import KeyStore
from kms.locked_keyring import LockedKeyring, locked
from vault.changeover.history import ChangeoverEvent, read_history, record_event
from vault.changeover.in_force import changeover_from
from vault.changeover.phase import Changeover, Phase, Subject
from vault.changeover.steps import Evidence, Next, end_of, left_by, next_step, place_of_proof
from vault.changeover.tables import changeover_part_table, changeover_table, is_of
from vault.errors import ChangeoverError

__all__ = ["ChangeoverStore", "Found", "Part"]

Found = Literal["guarded", "complete", "empty"]
Part = tuple[str, str]
"""A table and column in which a changeover takes place, by context names; of a shared index there are several."""
FOUND_AT: Final = ("guarded_at", "complete_at", "empty_at")


class ChangeoverStore:
    """Of one keyring. lease: how long a process may go on without news, as its LeaseSettings say (180 s)."""

    def __init__(self, key_store: KeyStore, keyring_id: bytes, lease: timedelta) -> None:
        self.key_store = key_store
        self.keyring_id = keyring_id
        self.lease = lease

    def find(self, subject: Subject) -> Changeover | None:
        """The changeover as it stands now, None where none is under way. Raises: UnavailableError."""
        with reading(self.key_store.engine) as connection:
            return self.find_in(connection, subject)

    def under_way(self) -> list[Changeover]:
        """All of the keyring."""
        table = changeover_table
        statement = select(table).where(table.c.keyring_id == self.keyring_id).order_by(*table.primary_key)
        with reading(self.key_store.engine) as connection:
            return [changeover_from(row) for row in connection.execute(statement)]

    def history(self, subject: Subject | None = None) -> list[ChangeoverEvent]:
        """What was ever changed, in order."""
        with reading(self.key_store.engine) as connection:
            return read_history(connection, self.keyring_id, subject)

    def begin(self, subject: Subject, old: str, new: str, phase: Phase, *, who: str, why: str) -> Changeover:
        """Begin in the first phase; or in a later one, where those before it do what was done before the begin.

        Raises: ChangeoverError if one is under way.
        """
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            return self.begin_in(keyring, subject, old, new, phase, who=who, why=why)

    def begin_in(
        self, keyring: LockedKeyring, subject: Subject, old: str, new: str, phase: Phase, *, who: str, why: str
    ) -> Changeover:
        """As begin, in a transaction that records more."""
        if self.find_in(keyring.connection, subject) is not None:
            raise ChangeoverError(f"{subject.label} is being changed already: end that first")
        made = Changeover(subject, old, new, phase, Phase(max(1, phase - 1)), keyring.clocks.later)
        keyring.connection.execute(insert(changeover_table).values(self._place(subject) | _row(made)))
        record_event(keyring, made, None, phase, who, why)
        return made

    def may_step(self, subject: Subject, to: Phase, parts: Iterable[Part]) -> Next:
        """Whether the step may be made now. parts: where the changeover takes place; each must have the evidence.

        Raises: ChangeoverError if none is under way; NoSuchStepError.
        """
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            return self._may_step(keyring, self._required(keyring.connection, subject), to, parts)

    def step(self, subject: Subject, to: Phase, parts: Iterable[Part], *, who: str, why: str) -> Changeover:
        """Make the step. Again, when it is made already: gives what is. Raises: ChangeoverError if it may not be."""
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            return self.step_in(keyring, subject, to, parts, who=who, why=why)

    def step_in(
        self, keyring: LockedKeyring, subject: Subject, to: Phase, parts: Iterable[Part], *, who: str, why: str
    ) -> Changeover:
        """As step, in a transaction that records more."""
        before = self._required(keyring.connection, subject)
        if before.phase is to:
            return before
        allowed = self._may_step(keyring, before, to, parts)
        if not allowed.allowed:
            raise ChangeoverError(f"{subject.label} cannot go from phase {before.phase} to {to} yet: {allowed}")
        after = Changeover(subject, before.old, before.new, to, before.phase, keyring.clocks.later)
        this = self._is(changeover_table, subject)
        keyring.connection.execute(update(changeover_table).where(this).values(_row(after)))
        for place in set(before.written) ^ set(after.written):  # what was found of it is so no more
            part = changeover_part_table
            keyring.connection.execute(delete(part).where(self._is(part, subject), part.c.place == place))
        record_event(keyring, after, before.phase, to, who, why)
        return after

    def may_end(self, subject: Subject, parts: Iterable[Part]) -> Next:
        """Whether it may end where it is. Raises: as may_step."""
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            return self._may_end(keyring, self._required(keyring.connection, subject), parts)

    def end(self, subject: Subject, parts: Iterable[Part], *, who: str, why: str) -> Changeover:
        """End it where it is, and give what it was. Raises: ChangeoverError if it may not."""
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            return self.end_in(keyring, subject, parts, who=who, why=why)

    def end_in(
        self, keyring: LockedKeyring, subject: Subject, parts: Iterable[Part], *, who: str, why: str
    ) -> Changeover:
        """As end, in a transaction that removes more."""
        last = self._required(keyring.connection, subject)
        allowed = self._may_end(keyring, last, parts)
        if not allowed.allowed:
            raise ChangeoverError(f"the changeover of {subject.label} cannot end yet: {allowed}")
        for table in (changeover_table, changeover_part_table):
            keyring.connection.execute(delete(table).where(self._is(table, subject)))
        record_event(keyring, last, last.phase, None, who, why)
        return last

    def note(self, subject: Subject, part: Part, place: str, what: Found) -> None:
        """Record what was found of a place in one table. It is forgotten when the place begins or ceases to be written.

        Raises: ChangeoverError for a place that is written and was found empty, or the other way round; for less than a
        lease after the phase began, when some process may still write as in the phase before; and for a place that was
        found complete without a guard, since rows may have come meanwhile.
        """
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            changeover = self._required(keyring.connection, subject)
            if (what == "empty") == (place in changeover.written):
                raise ChangeoverError(f"{subject.label} is in phase {changeover.phase} by now: look at it again")
            if keyring.clocks.earlier < changeover.since + self.lease:
                raise ChangeoverError(f"{subject.label}: some process may still write as before: wait out the lease")
            if what == "complete" and not self._found(keyring.connection, subject, place, [part]).guarded:
                raise ChangeoverError(f"{subject.label}: {part[0]} is not guarded, so that no scan proves anything")
            table, this = changeover_part_table, self._is(changeover_part_table, subject)
            names = {"part_table": part[0], "part_column": part[1], "place": place}
            row = and_(this, *(table.c[name] == value for name, value in names.items()))
            found = {f"{what}_at": time_text(keyring.clocks.later)}
            if keyring.connection.execute(select(table.c.place).where(row)).first() is None:
                keyring.connection.execute(insert(table).values(self._place(subject) | names | found))
            else:
                keyring.connection.execute(update(table).where(row).values(found))

    def withdraw(self, subject: Subject, place: str, parts: Iterable[Part] | None = None) -> None:
        """Forget what was found of a place, in these parts or in all: before its guard is taken away or made anew."""
        table = changeover_part_table
        this = [self._is(table, subject), table.c.place == place]
        if parts is not None:
            this.append(or_(false(), *(and_(table.c.part_table == of, table.c.part_column == c) for of, c in parts)))
        with locked(self.key_store.engine, self.keyring_id, self.key_store.now()) as keyring:
            keyring.connection.execute(delete(table).where(*this))

    def guarded_at(self, subject: Subject, part: Part, place: str) -> str | None:
        """Since when the place was guarded in one table, as text that is another each time that it is noted."""
        table, names = changeover_part_table, {"part_table": part[0], "part_column": part[1], "place": place}
        conditions = (table.c[name] == value for name, value in names.items())
        with reading(self.key_store.engine) as connection:
            return connection.scalar(select(table.c.guarded_at).where(self._is(table, subject), *conditions))

    def found(self, subject: Subject, place: str, parts: Iterable[Part]) -> Evidence:
        """What was found of a place, in all of the parts."""
        with reading(self.key_store.engine) as connection:
            return self._found(connection, subject, place, parts)

    def _may_step(self, keyring: LockedKeyring, now: Changeover, to: Phase, parts: Iterable[Part]) -> Next:
        place = place_of_proof(now, to)
        found = Evidence() if place is None else self._found(keyring.connection, now.subject, place, parts)
        return next_step(now, to, found, keyring.clocks.earlier, self.lease)

    def _may_end(self, keyring: LockedKeyring, now: Changeover, parts: Iterable[Part]) -> Next:
        found = self._found(keyring.connection, now.subject, left_by(now), parts)
        return end_of(now, found, keyring.clocks.earlier, self.lease)

    def _found(self, connection: Connection, subject: Subject, place: str, parts: Iterable[Part]) -> Evidence:
        table = changeover_part_table
        rows = connection.execute(select(table).where(self._is(table, subject), table.c.place == place))
        by_part = {(row.part_table, row.part_column): row for row in rows}
        found = [by_part.get(part) for part in parts]
        if not found:
            return Evidence()
        return Evidence(*(all(row is not None and getattr(row, at) is not None for row in found) for at in FOUND_AT))

    def find_in(self, connection: Connection, subject: Subject) -> Changeover | None:
        """As find, in a transaction that reads more."""
        row = connection.execute(select(changeover_table).where(self._is(changeover_table, subject))).first()
        return None if row is None else changeover_from(row)

    def _required(self, connection: Connection, subject: Subject) -> Changeover:
        found = self.find_in(connection, subject)
        if found is None:
            raise ChangeoverError(f"no changeover of {subject.label} is under way: it was not begun, or it is done")
        return found

    def _place(self, subject: Subject) -> dict[str, Any]:
        names = {"table_name": subject.table, "column_name": subject.column, "index_name": subject.index}
        return {"keyring_id": self.keyring_id, **names}

    def _is(self, table: Table, subject: Subject) -> Any:
        return and_(table.c.keyring_id == self.keyring_id, is_of(table, subject))


def _row(changeover: Changeover) -> dict[str, Any]:
    return {
        "old_place": changeover.old,
        "new_place": changeover.new,
        "phase": int(changeover.phase),
        "came_from": int(changeover.came_from),
        "since": time_text(changeover.since),
    }
