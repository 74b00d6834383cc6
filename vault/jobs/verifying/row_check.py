"""Row check: what is wrong with the sealed values and index terms of rows that were read, in memory.

A row is whole when each value opens under the key that it names, bound to its row, and each term is the one that its
slot's pin makes of the value. One statement read all of it, so that a write meanwhile is seen whole or not at all.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Table

from vault.definitions.index_slot import SLOTS
from vault.errors import FieldError
from vault.field import Field
from vault.index.compound_terms import CompoundTerms
from vault.jobs.row_keyrings import RowKeyrings, keys_goal, row_keyrings
from vault.jobs.verifying.finding import Finding, FindingKind, kind_of
from vault.jobs.verifying.page import Page
from vault.jobs.verifying.term_check import Fault, term_faults, terms_of_nothing
from vault.jobs.walking.stored_key import as_declared, job_table, key_kind
from vault.mapping.compound_index import CompoundColumn, compounds_of
from vault.mapping.definitions import definition_of, sealed_columns, term_columns
from vault.opened import OpenedVault
from vault.sealed.envelope import looks_sealed
from vault.tenants import TenantVaults

__all__ = ["RowCheck"]


class _Unread:
    """In place of a value that does not open."""


UNREAD: Final = _Unread()


class RowCheck:
    """Of one table. refresh() before the first page; it may be called by one thread at a time."""

    def __init__(
        self, table: Table, opened: OpenedVault | TenantVaults, *, terms: bool = True, skip_slow: bool = False
    ) -> None:
        """table: as it is mapped. terms: check the index terms too. skip_slow: but for those that argon2id makes.

        Raises: DefinitionChangedError, KmsError; DefinitionError for a table without a primary key.
        """
        self.table = job_table(table)
        self._opened = opened
        self._keyrings: RowKeyrings = row_keyrings(table, opened)
        self._values = {column.name: definition_of(column) for column in sealed_columns(table)}
        self._skip_slow = skip_slow
        self._terms: dict[str, list[str]] = {}
        self._compounds: tuple[CompoundColumn, ...] = ()
        if terms:
            self._terms = {c.name: [term.name for term in term_columns(c)] for c in sealed_columns(table)}
            self._compounds = compounds_of(table)
        self._bound: dict[str, tuple[str, ...]] = {}
        self.refresh()

    @property
    def reads(self) -> list[str]:
        """The columns that it needs beside the primary key."""
        terms = [name for names in self._terms.values() for name in names]
        both = [compound.term_column(slot).name for compound in self._compounds for slot in SLOTS]
        bound = {name for names in self._bound.values() for name in names}
        plain = sorted(bound | set(self._keyrings.tenant_columns.values()))
        return [*self._values, *terms, *both, *plain]

    @property
    def goal(self) -> str:
        """What rows are checked by, as text: a checkpoint on the way to another goal is not used."""
        parts = [f"{name} {definition.fingerprint}" for name, definition in self._values.items()]
        parts += [compound.definition.fingerprint for compound in self._compounds]
        return "\n".join(
            [*parts, keys_goal(self._keyrings.states()), key_kind(self.table), f"{bool(self._terms)} {self._skip_slow}"]
        )

    @property
    def slow(self) -> list[str]:
        """The indexes whose terms cost 20 to 50 ms each, as messages name them."""
        if not self._terms and not self._compounds:
            return []
        own = [f"{name} {i.name}" for name, d in self._values.items() for i in d.indexes if i.argon2id is not None]
        return [*own, *(c.declared.name for c in self._compounds if c.definition.argon2id is not None)]

    def refresh(self) -> None:
        """Read anew which keys there are, which slots are pinned, and which phase each change is in.

        Raises: KmsError.
        """
        self._keyrings.refresh()
        vaults = [self._opened] if isinstance(self._opened, OpenedVault) else self._opened.opened()
        for vault in vaults:
            vault.look_again()
        self._bound = {
            name: tuple(bound for bound in self._keyrings.bound_names(name) if bound in self.table.c)
            for name in self._values
        }

    def check(self, page: Page) -> list[Finding]:
        """What is wrong, by row and column. Raises: KmsError when the keys cannot be had; no row is to blame for that.

        Of a value that does not open the terms are not spoken of.
        """
        findings: dict[int, list[Finding]] = defaultdict(list)
        opened: dict[str, list[Any]] = {}
        served: dict[str, list[tuple[Field, list[int]]]] = {}
        for name in self._values:
            served[name] = self._served(name, page, findings)
            opened[name] = self._open(name, page, served[name], findings)
            for term_at, column in enumerate(self._terms.get(name, ())):
                for place, kind, reason in self._of_index(page.columns[column], opened[name], served[name], term_at):
                    findings[place].append(Finding(page.keys[place], column, kind, reason))
        for compound in self._compounds:
            self._of_compound(compound, page, opened, served[compound.parts[0].column.name], findings)
        return [finding for at in sorted(findings) for finding in findings[at]]

    def _served(self, name: str, page: Page, findings: dict[int, list[Finding]]) -> list[tuple[Field, list[int]]]:
        """The places of the values that are not NULL, by the field that serves them; none may serve one."""
        stored, keyrings = page.columns[name], self._keyrings
        if keyrings.is_one:
            field = keyrings.field(name, None, None)
            assert isinstance(field, Field)  # noqa: S101  # one keyring always serves
            places = [at for at, value in enumerate(stored) if value is not None]
            return [(field, places)] if places else []
        tenant = keyrings.tenant_columns.get(name)
        tenants: Sequence[Any] = [None] * len(page) if tenant is None else self._plain(page, tenant)
        served: dict[int, tuple[Field, list[int]]] = {}
        for at, (value, named) in enumerate(zip(stored, tenants, strict=True)):
            if value is None:
                continue
            one = keyrings.field(name, value, named)
            if isinstance(one, str):
                kind = FindingKind.UNKNOWN_KEY if looks_sealed(value) else FindingKind.NOT_SEALED
                findings[at].append(Finding(page.keys[at], name, kind, one))
            else:
                served.setdefault(id(one), (one, []))[1].append(at)
        return list(served.values())

    def _open(
        self,
        name: str,
        page: Page,
        served: Sequence[tuple[Field, list[int]]],
        findings: dict[int, list[Finding]],
    ) -> list[Any]:
        """Each value of the page, opened; UNREAD where it does not."""
        stored = page.columns[name]
        values: list[Any] = [None if value is None else UNREAD for value in stored]
        bound = {column: self._plain(page, column) for column in self._bound[name]}
        for field, places in served:
            rows = [{column: plain[at] for column, plain in bound.items()} for at in places] if bound else None
            opened = field.open_many([stored[at] for at in places], rows, on_error="mark")
            for at, value in zip(places, opened, strict=True):
                if isinstance(value, FieldError):
                    findings[at].append(Finding(page.keys[at], name, kind_of(value), value.reason))
                else:
                    values[at] = value
        return values

    def _of_index(
        self, stored: Sequence[Any], values: Sequence[Any], served: Sequence[tuple[Field, list[int]]], term_at: int
    ) -> list[Fault]:
        """The faults of one term column: that of the slot with this number, in the order of the field's columns."""
        faults = _beside_null(stored, values)
        for field, places in served:
            plan = field.plan()
            index, slot = [(index, slot) for index in plan.indexes for slot in SLOTS][term_at]
            maker, does = plan.slot(index, slot), plan.of(index)
            readable = [at for at in places if values[at] is not UNREAD]
            found = [stored[at] for at in readable]
            if maker is None:
                some = terms_of_nothing(found, pinned=False)
            elif self._skip_slow and maker.index.argon2id is not None:
                continue
            else:
                of_values = [values[at] for at in readable]
                some = term_faults(found, of_values, maker.terms, maker.pin, complete=does.asked == slot)
            faults += [(readable[at], kind, reason) for at, kind, reason in some]
        return faults

    def _of_compound(
        self,
        compound: CompoundColumn,
        page: Page,
        opened: dict[str, list[Any]],
        served: Sequence[tuple[Field, list[int]]],
        findings: dict[int, list[Finding]],
    ) -> None:
        parts = list(zip(*(opened[part.column.name] for part in compound.parts), strict=True))
        # NULL in one part is NULL in all; of a row that does not open wholly nothing else is known.
        whole: list[Any] = [None if None in row else UNREAD if UNREAD in row else row for row in parts]
        for slot in SLOTS:
            column = compound.term_column(slot).name
            stored = page.columns[column]
            faults = _beside_null(stored, whole)
            for field, places in served:
                plan = self._compound(compound, field).plan()
                maker = plan.slots[slot]
                readable = [at for at in places if whole[at] is not UNREAD and whole[at] is not None]
                found = [stored[at] for at in readable]
                if maker is None:
                    some = terms_of_nothing(found, pinned=False)
                elif self._skip_slow and maker.definition.argon2id is not None:
                    continue
                else:
                    of_rows = [whole[at] for at in readable]
                    some = term_faults(found, of_rows, maker.terms, maker.pin, complete=plan.does.asked == slot)
                faults += [(readable[at], kind, reason) for at, kind, reason in some]
            for at, kind, reason in faults:
                findings[at].append(Finding(page.keys[at], column, kind, reason))

    def _compound(self, compound: CompoundColumn, field: Field) -> CompoundTerms:
        """The index in the keyring that serves the row."""
        opened = self._opened
        vault = opened if isinstance(opened, OpenedVault) else opened.vault(field.keyring.name)
        return vault.compound(compound.definition)

    def _plain(self, page: Page, name: str) -> Sequence[Any]:
        """A plain column as it is declared, which a key column is not under its own name."""
        return page.columns[as_declared(name) if name in self.table.primary_key.columns else name]


def _beside_null(stored: Sequence[Any], values: Sequence[Any]) -> list[Fault]:
    nulls = [at for at, value in enumerate(values) if value is None]
    found = terms_of_nothing([stored[at] for at in nulls]) if nulls else []
    return [(nulls[at], kind, reason) for at, kind, reason in found]
