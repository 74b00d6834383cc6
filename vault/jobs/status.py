"""Status: how many values and terms each key has, what jobs run, which rows they left, which changes are under way.

Each table is read once; nothing is opened, and no key-encryption key is asked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Engine, Table, inspect, select

from kms import KeyRecord, KeyringState, KeyState, KeyStore
from kms.key_database import reading
from kms.seal_counter import ROTATE_AFTER_SEALS, SealCounter
from vault.changeover.in_force import changeover_from
from vault.changeover.phase import Changeover
from vault.changeover.tables import changeover_table
from vault.jobs.job_store import JobStore
from vault.jobs.quarantine import rows_by_job
from vault.mapping.definitions import sealed_columns
from vault.rows.header_counts import TableCounts, header_counts

__all__ = ["KeyStatus", "Status", "read_status"]

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """A key, and how much depends on it. seals: of the field that it sealed most.

    values, terms: in the tables that were looked at; rows: in which at least one of them names it.
    """

    keyring: str
    record: KeyRecord
    seals: int
    values: int
    terms: int
    rows: int

    @property
    def rotate(self) -> bool:
        """Whether it has sealed so much that it is to be rotated."""
        return self.record.state is KeyState.ACTIVE and self.seals > ROTATE_AFTER_SEALS


@dataclass(frozen=True, slots=True)
class Status:
    """keys: of the keyrings that were named, and others that a row names. unknown: key ids that no keyring has.

    jobs: each that was ever begun. quarantined: rows by job and table. changes: by keyring.
    """

    keys: tuple[KeyStatus, ...]
    tables: tuple[TableCounts, ...]
    unknown: Mapping[bytes, int]
    jobs: tuple[Mapping[str, Any], ...]
    quarantined: Mapping[tuple[str, str], int]
    changes: tuple[tuple[str, Changeover], ...]

    def state_of(self, key_id: bytes) -> str:
        """Of the key with this id: its state, or that it is unknown."""
        return next((str(key.record.state) for key in self.keys if key.record.key_id == key_id), UNKNOWN)

    def rows_naming(self, key_id: bytes) -> int:
        """Rows of all tables in which a value or a term names the key."""
        return sum(table.naming[key_id] for table in self.tables)


def read_status(engine: Engine, key_store: KeyStore, tables: Iterable[Table], keyrings: Iterable[str] | None) -> Status:
    """keyrings: by name; None: all of the key store. Raises: UnavailableError."""
    counted = tuple(header_counts(engine, table) for table in tables if sealed_columns(table))
    states = key_store.load_all()
    named = {key_id for table in counted for key_id in table.naming}
    wanted = None if keyrings is None else set(keyrings)
    shown = [
        (state.name, record)
        for state in states
        for record in state.records
        if wanted is None or state.name in wanted or record.key_id in named
    ]
    known = {record.key_id for _, record in shown}
    seals: Counter[bytes] = Counter()
    for (key_id, _), number in SealCounter(key_store.engine).counts().items():
        seals[key_id] = max(seals[key_id], number)
    rows = sum((table.naming for table in counted), Counter[bytes]())
    held = {holds: _by_key(counted, holds) for holds in ("values", "terms")}
    with engine.connect() as connection:
        listed = rows_by_job(connection)
    return Status(
        tuple(
            KeyStatus(name, record, seals[key], held["values"][key], held["terms"][key], rows[key])
            for name, record in shown
            for key in [record.key_id]
        ),
        counted,
        {key_id: rows[key_id] for key_id in sorted(named - known)},
        tuple(JobStore(engine).all()),
        listed,
        _changes(key_store.engine, [state for state in states if wanted is None or state.name in wanted]),
    )


def _by_key(tables: Iterable[TableCounts], holds: str) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for column in (column for table in tables for column in table.columns if column.holds == holds):
        found += column.by_key()
    return found


def _changes(key_store: Engine, states: Iterable[KeyringState]) -> tuple[tuple[str, Changeover], ...]:
    if not inspect(key_store).has_table(changeover_table.name):
        return ()
    names = {state.keyring_id: state.name for state in states}
    with reading(key_store) as connection:
        rows = connection.execute(select(changeover_table).order_by(*changeover_table.primary_key)).all()
    return tuple((names[bytes(row.keyring_id)], changeover_from(row)) for row in rows if bytes(row.keyring_id) in names)
