"""Reindex: the new slot of an index gets the term of every value that a row has, services going on.

The state of the work is the data: the generation and key id that each term begins with. A term is written only if
value and slot still are, byte for byte, what was read.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, LargeBinary, RowMapping, Select, Table, and_, func, select

from vault.errors import FieldError
from vault.field import Field
from vault.index.compound_terms import CompoundTerms
from vault.jobs.change import Change, Failed
from vault.jobs.reindexing.slot_move import MakesTerms, SlotMove, terms_of, with_term_columns
from vault.jobs.row_keyrings import OneKeyring, RowKeyrings
from vault.jobs.walking.key_pages import key_of
from vault.jobs.walking.stored_key import as_declared
from vault.terms.term import TERM_PREFIX_BYTES

__all__ = ["Reindex"]

NO_TERM: Final = "has no term in slot {}"
OTHER_TERM: Final = "has a term of another key or generation in slot {}"
NO_VALUE: Final = "has a term of no value in slot {}"


class Reindex:
    """The work of filling slots of a table's indexes. Satisfies Work and OverlooksRows."""

    name = "reindex"

    def __init__(
        self,
        table: Table,
        moves: Sequence[SlotMove],
        fields: Mapping[str, Field],
        compounds: Mapping[str, CompoundTerms],
        refresh: Callable[[], None] = lambda: None,
        rows: RowKeyrings | None = None,
    ) -> None:
        """table: as it is mapped. fields: by column name. compounds: by index name. refresh: asks the key store anew.

        rows: what opens a row's values, where that is not the keyring that makes the terms.
        Raises: ChangeoverError for a slot that is not written; DefinitionError for a table without a primary key.
        """
        self.table = with_term_columns(table, moves)
        self._moves = moves
        self.slot = moves[0].slot
        self._fields = fields
        self._compounds = compounds
        self._ask_anew = refresh
        self._rows = OneKeyring(dict(fields)) if rows is None else rows
        self._columns = list(dict.fromkeys(name for move in moves for name in move.columns))
        self._terms = [move.term_column for move in moves]
        self.refresh()

    @property
    def goal(self) -> str:
        said = [f"{name} {maker.prefix.hex()}" for name, maker in zip(self._terms, self._makers, strict=True)]
        return hashlib.sha256("\n".join(said).encode()).hexdigest()

    @property
    def reads(self) -> list[str]:
        bound = {name for names in self._bound.values() for name in names}
        return [*self._columns, *self._terms, *sorted(bound | set(self._rows.tenant_columns.values()))]

    @property
    def compares(self) -> list[str]:
        return [*self._columns, *self._terms]

    @property
    def sets(self) -> list[str]:
        return self._terms

    def refresh(self) -> None:
        self._ask_anew()
        self._rows.refresh()
        self._makers: list[MakesTerms] = [
            terms_of(self._compounds[move.index] if move.is_compound else self._fields[move.columns[0]], move)
            for move in self._moves
        ]
        self._bound = {
            name: tuple(bound for bound in self._rows.bound_names(name) if bound in self.table.c)
            for name in self._columns
        }

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        new: list[dict[str, bytes | None]] = [{} for _ in rows]
        failed: dict[int, dict[str, str]] = defaultdict(dict)
        due = [self._due(move, maker, rows, new) for move, maker in zip(self._moves, self._makers, strict=True)]
        opened = self._opened(rows, due, failed)
        for move, maker, places in zip(self._moves, self._makers, due, strict=True):
            whole = [at for at in places if not any(name in failed.get(at, ()) for name in move.columns)]
            values = [[opened[name][at] for name in move.columns] for at in whole]
            for at, term in zip(whole, _terms(maker, values), strict=True):
                if isinstance(term, FieldError):
                    failed[at][move.columns[0]] = term.reason
                elif term != rows[at][move.term_column]:
                    new[at][move.term_column] = term
        changes = [
            self._change(row, made)
            for at, (row, made) in enumerate(zip(rows, new, strict=True))
            if made and at not in failed
        ]
        told = [
            Failed(key_of(self.table, rows[at]), name, reason)
            for at, reasons in sorted(failed.items())
            for name, reason in reasons.items()
        ]
        return changes, told

    def may_overlook(self) -> bool:
        """Where the index is partial, a term that is lacking is counted as one that there is not."""
        return any(maker.partial for maker in self._makers)

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        parts: list[ColumnElement[Any]] = []
        for at, move in enumerate(self._moves):
            is_there = (self.table.c[name].is_not(None) for name in move.columns)
            has_value = and_(*is_there, move.owned(self.table))
            head = func.substr(self.table.c[move.term_column], 1, TERM_PREFIX_BYTES, type_=LargeBinary())
            parts += [has_value.label(f"value_{at}"), head.label(f"head_{at}")]
        inner = select(*parts).where(*within).subquery()
        return select(*inner.c, func.count().label("rows")).group_by(*inner.c)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        found = {}
        for at, (move, maker) in enumerate(zip(self._moves, self._makers, strict=True)):
            has_value, head = bool(group[f"value_{at}"]), group[f"head_{at}"]
            if has_value and head is None:
                reason = "" if maker.partial else NO_TERM  # the passes have opened each and looked
            elif has_value:
                reason = "" if bytes(head) == maker.prefix else OTHER_TERM
            else:
                reason = "" if head is None or move.keys is not None else NO_VALUE
            if reason:
                found[move.columns[0]] = reason.format(move.slot)
        return found

    def _due(
        self, move: SlotMove, maker: MakesTerms, rows: Sequence[RowMapping], new: list[dict[str, bytes | None]]
    ) -> list[int]:
        """The rows with values whose term is not of the slot's key and generation; without values a term goes."""
        due = []
        for at, row in enumerate(rows):
            stored = row[move.term_column]
            if not move.is_of(row):
                continue
            if any(row[name] is None for name in move.columns):
                if stored is not None:
                    new[at][move.term_column] = None
            elif stored is None or bytes(stored[:TERM_PREFIX_BYTES]) != maker.prefix:
                due.append(at)
        return due

    def _opened(
        self, rows: Sequence[RowMapping], due: Sequence[Sequence[int]], failed: dict[int, dict[str, str]]
    ) -> dict[str, dict[int, Any]]:
        """By column, the value of each row in which one of its indexes is due; what does not open is in failed."""
        opened: dict[str, dict[int, Any]] = {}
        for name in self._columns:
            wanted = sorted(
                {at for move, places in zip(self._moves, due, strict=True) if name in move.columns for at in places}
            )
            opened[name] = {}
            for field, places in self._served(name, wanted, rows, failed):
                stored = [rows[at][name] for at in places]
                contexts = [{bound: self._plain(rows[at], bound) for bound in self._bound[name]} for at in places]
                values = field.open_many(stored, contexts if self._bound[name] else None, on_error="mark")
                opened[name] |= dict(zip(places, values, strict=True))
            for at, value in opened[name].items():
                if isinstance(value, FieldError):
                    failed[at][name] = value.reason
        return opened

    def _served(
        self, name: str, wanted: Sequence[int], rows: Sequence[RowMapping], failed: dict[int, dict[str, str]]
    ) -> list[tuple[Field, list[int]]]:
        """The rows by the field that opens them; those that none does are failed."""
        served: dict[int, tuple[Field, list[int]]] = {}
        tenant = self._rows.tenant_columns.get(name)
        for at in wanted:
            field = self._rows.field(name, rows[at][name], None if tenant is None else self._plain(rows[at], tenant))
            if isinstance(field, str):
                failed[at][name] = field
            else:
                served.setdefault(id(field), (field, []))[1].append(at)
        return list(served.values())

    def _plain(self, row: RowMapping, name: str) -> Any:
        """A plain column as it is declared, which a key column is not under its own name."""
        return row[as_declared(name) if name in self.table.primary_key.columns else name]

    def _change(self, row: RowMapping, made: Mapping[str, bytes | None]) -> Change:
        old = tuple(row[name] for name in self.compares)
        return Change(key_of(self.table, row), old, tuple(made.get(name, row[name]) for name in self._terms))


def _terms(maker: MakesTerms, values: list[list[Any]]) -> list[bytes | FieldError | None]:
    """A value that the index cannot have stands as its error. Raises: KmsError."""
    try:
        return [*maker.terms(values)]
    except FieldError:
        pass  # one by one, to tell which
    made: list[bytes | FieldError | None] = []
    for one in values:
        try:
            made += maker.terms([one])
        except FieldError as error:  # each alone is what this is for
            made.append(error)
    return made
