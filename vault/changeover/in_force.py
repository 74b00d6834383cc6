"""In force: the pins and phases of one keyring as read from the key store, relied on for a sealing lease.

Each process asks for all of a keyring's by one query; the thread that renews the keyring's leases renews this one.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, LargeBinary, cast, literal, null, select, union_all

from kms.data_key import ENDED
from kms.fork import forget_in_child
from kms.key_database import reading
from kms.keyring import Keyring
from vault.changeover.phase import NOWHERE, Changeover, Phase, Subject
from vault.changeover.tables import changeover_table
from vault.definitions.definition_tables import index_slot_table
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.errors import ChangeoverError

__all__ = ["Held", "InForce", "InForceLease", "read_in_force"]

# All that there are: the slots of an index, and the columns of a migrating field.
PLACES: Final = frozenset({NOWHERE, "a", "b", "plaintext", "sealed"})


@dataclass(frozen=True, slots=True)
class InForce:
    """name: the keyring's. pins: of each index of it. changeovers: those under way."""

    name: str
    pins: Mapping[Subject, SlotKeys]
    changeovers: Mapping[Subject, Changeover]


@dataclass(slots=True, eq=False)
class Held:
    """What is in force, and the moment of the keyring's clock until which it may be relied on.

    Whoever holds it looks at `until` before each use, as of a leased key.
    """

    state: InForce
    until: float


class InForceLease:
    """Of one keyring in one process. Shared by threads."""

    def __init__(self, engine: Engine, keyring: Keyring) -> None:
        """engine: the key store's. Reads at once. Raises: UnavailableError."""
        self.clock = keyring.clock
        self._held: Held | None = None
        self.forget_after_fork()
        forget_in_child(self)
        keyring_id, name = keyring.id, keyring.name
        self._lease = keyring.beside.lease(lambda: read_in_force(engine, keyring_id, name), self._end)

    def forget_after_fork(self) -> None:
        """The parent may have held the lock."""
        self._lock = threading.Lock()

    def held(self) -> Held:
        """What may be relied on now. Another object each time that it is something else.

        Raises: LeaseExpiredError if it cannot be read within the lease.
        """
        while True:
            state, until = self._lease.for_sealing()
            with self._lock:
                if state is not self._lease.state:  # another thread read it meanwhile
                    continue
                held = self._held
                if held is None or held.state != state:
                    self._end()
                    held = self._held = Held(state, until)
                held.until = until
                return held

    def reload(self) -> InForce:
        """What is in force now, asked of the key store after this call began. Raises: UnavailableError."""
        return self._lease.reload()

    def _end(self) -> None:
        held = self._held
        if held is not None:
            held.until = ENDED


def read_in_force(engine: Engine, keyring_id: bytes, name: str) -> InForce:
    """One query. Raises: UnavailableError."""
    slot, change = index_slot_table.c, changeover_table.c
    no_bytes, nothing, none = cast(null(), LargeBinary), literal(""), literal(0)
    slots = select(
        slot.table_name, slot.column_name, slot.index_name,
        slot.slot.label("old_place"), nothing.label("new_place"), slot.key_id, slot.generation,
        none.label("phase"), none.label("came_from"), nothing.label("since"),
    ).where(slot.keyring_id == keyring_id)  # fmt: skip
    changes = select(
        change.table_name, change.column_name, change.index_name,
        change.old_place, change.new_place, no_bytes, none, change.phase, change.came_from, change.since,
    ).where(change.keyring_id == keyring_id)  # fmt: skip
    with reading(engine) as connection:
        rows = connection.execute(union_all(slots, changes)).all()
    pins: dict[Subject, dict[str, SlotPin]] = {}
    changeovers = {}
    for row in rows:
        subject = Subject(row.table_name, row.column_name, row.index_name)
        if row.key_id is not None:
            pins.setdefault(subject, {})[row.old_place] = SlotPin(bytes(row.key_id), row.generation)
        else:
            changeovers[subject] = changeover_from(row)
    return InForce(name, {s: SlotKeys(its.get("a"), its.get("b")) for s, its in pins.items()}, changeovers)


def changeover_from(row: Any) -> Changeover:
    """The changeover that a row of the table says. Raises: ChangeoverError for what no command writes."""
    subject = Subject(row.table_name, row.column_name, row.index_name)
    try:
        phases, since = (Phase(row.phase), Phase(row.came_from)), datetime.fromisoformat(row.since)
        places = {row.old_place, row.new_place} <= PLACES and row.old_place != row.new_place
        known = places and since.utcoffset() is not None
    except ValueError:
        known = False
    if not known:
        raise ChangeoverError(
            f"what noisevault_changeover says of {subject.label} was written by no command: restore the key store"
        )
    return Changeover(subject, row.old_place, row.new_place, *phases, since)
