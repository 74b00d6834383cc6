"""Reencrypt: every sealed value of a table moves to the active key and the declared generation, services going on.

The state of the work is the data itself: the header of each sealed value. A row of which a value does not open is left
byte for byte, and listed.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Integer,
    LargeBinary,
    RowMapping,
    Select,
    Table,
    case,
    func,
    literal,
    null,
    select,
    type_coerce,
)

from kms import KeyringClosedError, LeaseSettings, Purpose
from vault.field import Field
from vault.jobs.change import Failed, Key
from vault.jobs.changes import Changes
from vault.jobs.renewal import current_header, due_values, is_stale, opens, renew_values
from vault.jobs.row_keyrings import RowKeyrings, keys_goal, row_keyrings
from vault.jobs.walking.key_pages import keys_of
from vault.jobs.walking.read_rows import column_of
from vault.jobs.walking.stored_key import StoredKey, as_declared, job_table
from vault.mapping.definitions import definition_of, sealed_columns
from vault.opened import OpenedVault
from vault.sealed.envelope import HEADER_BYTES, OVERHEAD_BYTES
from vault.tenants import TenantVaults

__all__ = ["Reencrypt"]

BODY: Final = bytes(OVERHEAD_BYTES - HEADER_BYTES)
UNSEALED: Final = "is not a sealed value"


class Reencrypt:
    """The work of re-encrypting the sealed columns of a table. Satisfies Work, Rehearses and Leased."""

    name = "reencrypt"

    def __init__(
        self,
        table: Table,
        keyrings: RowKeyrings,
        *,
        lease: float = LeaseSettings().sealing,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """table: as it is mapped. lease: seconds for which a service may seal by a key that another has replaced."""
        self.table = job_table(table)
        self._keyrings = keyrings
        self._definitions = {column.name: definition_of(column) for column in sealed_columns(table)}
        self._lease = lease
        self._now = now
        self._columns = list(self._definitions)
        self._bound: dict[str, tuple[str, ...]] = {}
        self.refresh()

    @classmethod
    def of(
        cls, table: Table, opened: OpenedVault | TenantVaults, *, lease: float = LeaseSettings().sealing
    ) -> "Reencrypt":
        """Raises: DefinitionChangedError, KmsError; DefinitionError for a table without a primary key."""
        return cls(table, row_keyrings(table, opened), lease=lease)

    @property
    def goal(self) -> str:
        parts = [f"{name} {definition.fingerprint}" for name, definition in self._definitions.items()]
        return hashlib.sha256("\n".join([*parts, keys_goal(self._states)]).encode()).hexdigest()

    @property
    def reads(self) -> list[str]:
        bound = {name for names in self._bound.values() for name in names}
        return [*self._columns, *sorted(bound | set(self._keyrings.tenant_columns.values()))]

    @property
    def compares(self) -> list[str]:
        return self._columns

    @property
    def sets(self) -> list[str]:
        return self._columns

    def refresh(self) -> None:
        self._keyrings.refresh()
        self._states = self._keyrings.states()
        self._bound = {
            name: tuple(bound for bound in self._keyrings.bound_names(name) if bound in self.table.c)
            for name in self._columns
        }

    def unsafe_seconds(self) -> float:
        """The rest of the sealing lease after the last rotation: services may seal by the older key until then."""
        ages = []
        for state in self._states:
            active = state.active(Purpose.DATA)
            if active is not None and active.sequence > 1:
                ages.append((self._now() - active.changed_at).total_seconds())
        return max(0.0, self._lease - max(0.0, min(ages))) if ages else 0.0

    def renew(self, rows: Sequence[RowMapping]) -> tuple[Changes, list[Failed]]:
        stored = {name: column_of(rows, name) for name in self._columns}
        renewed = {name: [*values] for name, values in stored.items()}
        due_rows: set[int] = set()
        failed: dict[int, list[tuple[str, str]]] = defaultdict(list)
        for name, values in stored.items():
            for field, due in self._due(name, rows, values, failed):
                due_rows.update(due)
                chosen = values if len(due) == len(values) else [values[at] for at in due]
                news = renew_values(field, chosen, self._contexts(name, rows, due))
                if len(due) == len(values) and str not in set(map(type, news)):
                    renewed[name] = news
                    continue
                for at, new in zip(due, news, strict=True):
                    if isinstance(new, str):
                        failed[at].append((name, new))
                    else:
                        renewed[name][at] = new
        keys = keys_of(self.table, rows)
        changes = Changes(keys, [*stored.values()], [*renewed.values()])
        kept = due_rows - failed.keys()
        if len(kept) < len(keys):
            changes = changes.only([at in kept for at in range(len(keys))])
        return changes, _failed(keys, failed)

    def rehearse(self, rows: Sequence[RowMapping]) -> tuple[int, list[Failed]]:
        """Opens what is due and seals nothing."""
        failed: dict[int, list[tuple[str, str]]] = defaultdict(list)
        found: set[int] = set()
        for name in self._columns:
            values = column_of(rows, name)
            for field, due in self._due(name, rows, values, failed):
                reasons = opens(field, [values[at] for at in due], self._contexts(name, rows, due))
                found.update(due)
                for at, reason in zip(due, reasons, strict=True):
                    if reason is not None:
                        failed[at].append((name, reason))
        return len(found - failed.keys()), _failed(keys_of(self.table, rows), failed)

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        tenants = sorted(set(self._keyrings.tenant_columns.values()))
        heads = [_head(self.table.c[name]).label(f"head_{at}") for at, name in enumerate(self._columns)]
        named = [_declared(self.table, name).label(f"tenant_{at}") for at, name in enumerate(tenants)]
        inner = select(*heads, *named).where(*within).subquery()
        return select(*inner.c, func.count().label("rows")).group_by(*inner.c)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        tenants = sorted(set(self._keyrings.tenant_columns.values()))
        found = {}
        for at, name in enumerate(self._columns):
            head = group[f"head_{at}"]
            if head is None:
                continue
            tenant = self._keyrings.tenant_columns.get(name)
            named = None if tenant is None else group[f"tenant_{tenants.index(tenant)}"]
            reason = self._unfinished(name, head, named)
            if reason:
                found[name] = reason
        return found

    def _unfinished(self, name: str, head: Any, tenant: Any) -> str:
        if not isinstance(head, bytes) or len(head) != HEADER_BYTES:
            return UNSEALED
        field = self._keyrings.field(name, head + BODY, tenant)
        if isinstance(field, str):
            return field
        current = self._header(field)
        if current is None or not is_stale(current, head + BODY):
            return ""
        if head[2:] == current[2:]:
            return f"of generation {head[1]} of its definition"
        return f"under key {head[2:].hex()}" if head[0] == current[0] else UNSEALED

    def _due(
        self, name: str, rows: Sequence[RowMapping], stored: Sequence[Any], failed: dict[int, list[tuple[str, str]]]
    ) -> list[tuple[Field, list[int]]]:
        """The rows whose value is due, by the field that serves them; those that none serves are failed."""
        keyrings = self._keyrings
        if keyrings.is_one:
            field = keyrings.field(name, None, None)
            assert isinstance(field, Field)  # noqa: S101  # one keyring always serves
            due = due_values(current_header(field), stored)
            return [(field, due)] if due else []
        served: dict[int, tuple[Field, bytes | None, list[int]]] = {}
        column = keyrings.tenant_columns.get(name)
        for at, (row, value) in enumerate(zip(rows, stored, strict=True)):
            if value is None:
                continue
            field = keyrings.field(name, value, None if column is None else self._plain(row, column))
            if isinstance(field, str):
                failed[at].append((name, field))
                continue
            if id(field) not in served:
                served[id(field)] = (field, self._header(field), [])
            _, active, due = served[id(field)]
            if active is not None and is_stale(active, value):
                due.append(at)
        return [(field, due) for field, _, due in served.values() if due]

    def _header(self, field: Field) -> bytes | None:
        """None where a tenant's keyring is closed: nothing of it is due. With one keyring for all that ends the run."""
        try:
            return current_header(field)
        except KeyringClosedError:
            if self._keyrings.is_one:
                raise
            return None

    def _contexts(self, name: str, rows: Sequence[RowMapping], due: Sequence[int]) -> list[dict[str, Any]]:
        bound = self._bound[name]
        return [{b: self._plain(rows[at], b) for b in bound} for at in due] if bound else []

    def _plain(self, row: RowMapping, name: str) -> Any:
        """A plain column as it is declared, which a key column is not under its own name."""
        return row[as_declared(name) if name in self.table.primary_key.columns else name]


def _failed(keys: Sequence[Key], failed: Mapping[int, list[tuple[str, str]]]) -> list[Failed]:
    return [Failed(keys[at], name, reason) for at, reasons in sorted(failed.items()) for name, reason in reasons]


def _head(column: Any) -> ColumnElement[Any]:
    """NULL for NULL, nothing for what is too short to be sealed, else the header."""
    return case(
        (column.is_(None), null()),
        (func.length(column, type_=Integer()) < OVERHEAD_BYTES, literal(b"", LargeBinary())),
        else_=func.substr(column, 1, HEADER_BYTES, type_=LargeBinary()),
    )


def _declared(table: Table, name: str) -> ColumnElement[Any]:
    column = table.c[name]
    return type_coerce(column, column.type.declared) if isinstance(column.type, StoredKey) else column
