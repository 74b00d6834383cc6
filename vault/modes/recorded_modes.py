"""Recorded modes: those of one keyring's migrating fields, as the key store says, relied on for a sealing lease.

A field's mode is the phase of its changeover from the place "plaintext" to the place "sealed". It begins in the first
one when the field is met for the first time. A field that was recorded before, and has no changeover, is sealed-only:
it always was, or its changeover has ended; so what is deleted from the key store by hand makes reading stricter.
"""

import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from kms.errors import KmsError
from kms.fork import forget_in_child
from kms.key_database import reading
from kms.key_store import KeyStore
from kms.keyring import Keyring
from vault.changeover.in_force import Held
from vault.changeover.phase import Changeover, Phase, Subject
from vault.changeover.store import ChangeoverStore
from vault.definition_store import register
from vault.definitions.definition import FieldDefinition
from vault.definitions.recorded_definitions import recorded_fields
from vault.errors import ChangeoverError
from vault.index.news import IndexNews, index_news
from vault.modes.mode import Mode

__all__ = ["PLAINTEXT", "SEALED", "RecordedModes", "changeovers_of", "mode_of", "phase_of", "subject_of_field"]

PLAINTEXT: Final = "plaintext"
SEALED: Final = "sealed"
# Ours: a key store that does not answer is not asked again for so long by statements that may not need it.
RETRY_SECONDS: Final = 1.0
_MODES: Final = dict(zip(Phase, Mode, strict=True))


def subject_of_field(definition: FieldDefinition) -> Subject:
    """Under which names a field's changeover is recorded."""
    return Subject(definition.table, definition.column, "")


def mode_of(changeover: Changeover | None) -> Mode:
    """None: no changeover is under way."""
    return Mode.SEALED_ONLY if changeover is None else _MODES[changeover.phase]


def phase_of(mode: Mode) -> Phase:
    return next(phase for phase, its in _MODES.items() if its is mode)


def changeovers_of(key_store: KeyStore, keyring: Keyring) -> ChangeoverStore:
    """By which modes are changed, its tables made where they are not there. Raises: KmsError."""
    register(key_store.engine, (), keyring)
    return ChangeoverStore(key_store, keyring.id, timedelta(seconds=keyring.leases.sealing))


class RecordedModes:
    """Of one keyring in one process; satisfies Modes. Asks nothing until a first migrating field is asked about."""

    def __init__(self, key_store: KeyStore, keyring: Keyring) -> None:
        self._key_store = key_store
        self._keyring = keyring
        self._clock = keyring.clock
        self._news: IndexNews | None = None
        self._held: Held | None = None
        self._until = 0.0
        self._not_before = 0.0
        self._before: dict[Subject, tuple[Mode, float]] = {}
        self._settled: set[Subject] = set()
        self._changes = 0
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """The parent may have held the lock."""
        self._lock = threading.RLock()

    @property
    def changes(self) -> int:
        """As Modes.changes. Looks again when the lease is over; a key store that is away is for mode() to tell."""
        held = self._held
        if held is not None and self._clock() >= max(held.until, self._not_before):
            try:
                self._in_force()
            except KmsError:
                self._not_before = self._clock() + RETRY_SECONDS
        return self._changes

    def mode(self, definition: FieldDefinition) -> Mode:
        """As Modes.mode. Begins the changeover of a field that is recorded for the first time."""
        subject = subject_of_field(definition)
        changeover = self._in_force().state.changeovers.get(subject)
        if changeover is None and subject not in self._settled:
            if not self._is_recorded(definition):
                self._begin(definition)
            # Whoever began it, or it is another process that did, what is held may have been read before. Threads that
            # come here at once, as when a migration has ended, share a reading and do not end each other's.
            self._listen().reload()
            changeover = self._in_force().state.changeovers.get(subject)
        if changeover is None:
            self._settled.add(subject)
        return mode_of(changeover)

    def may_run(self, definition: FieldDefinition, mode: Mode) -> bool:
        if mode is self.mode(definition):
            return True
        before, until = self._before.get(subject_of_field(definition), (None, 0.0))
        return mode is before and self._clock() < until

    def _in_force(self) -> Held:
        held = self._held
        if held is not None and self._clock() < held.until:
            return held
        with self._lock:
            held = self._listen().held()
            if held is not self._held:
                self._note_changes(self._held, held)
                self._held = held
            self._until = held.until
            return held

    def _listen(self) -> IndexNews:
        if self._news is None:
            register(self._key_store.engine, (), self._keyring)
            self._news = index_news(self._key_store.engine, self._keyring)
        return self._news

    def _note_changes(self, before: Held | None, now: Held) -> None:
        """What was compiled in another mode may run until the lease that it was read by is over."""
        if before is None:
            return
        was, is_now = before.state.changeovers, now.state.changeovers
        changed = {subject for subject in was.keys() | is_now.keys() if _differ(subject, was, is_now)}
        for subject in changed:
            self._before[subject] = (mode_of(was.get(subject)), self._until)
        self._changes += bool(changed)

    def _is_recorded(self, definition: FieldDefinition) -> bool:
        with reading(self._key_store.engine) as connection:
            return bool(recorded_fields(connection, self._keyring.id, definition.table, definition.column))

    def _begin(self, definition: FieldDefinition) -> None:
        store = changeovers_of(self._key_store, self._keyring)
        try:
            subject = subject_of_field(definition)
            store.begin(subject, PLAINTEXT, SEALED, Phase.OLD, who="start-up", why="declared with migrating=")
        except ChangeoverError:  # another process has begun it
            pass


def _differ(subject: Subject, was: Mapping[Subject, Changeover], is_now: Mapping[Subject, Changeover]) -> bool:
    return subject.index == "" and mode_of(was.get(subject)) is not mode_of(is_now.get(subject))
