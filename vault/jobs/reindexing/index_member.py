"""Index member: one table and column in which an index changes; of an index over several columns the table alone."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Table

from kms.key_record import Purpose
from kms.keyring import Keyring
from vault.changeover.guard import Guard
from vault.changeover.store import Part
from vault.field import Field
from vault.index.compound_terms import CompoundTerms
from vault.jobs.reindexing.slot_move import SlotMove
from vault.jobs.row_keyrings import RowKeyrings

__all__ = ["Member"]


@dataclass(frozen=True, slots=True)
class Member:
    """index: its name there. field: by SQL name of one of its sealed columns; opened when first asked for.

    owner: the keyring whose rows alone are meant, where the table has rows of several; None where it has not.
    rows: what opens its values, where that is another keyring than the one that the index lives in.
    """

    part: Part
    table: Table
    index: str
    columns: tuple[str, ...]
    unique: bool
    field: Callable[[str], Field]
    compound: Callable[[], CompoundTerms] | None = None
    owner: Keyring | None = None
    rows: RowKeyrings | None = None

    def move(self, slot: str) -> SlotMove:
        """One of its slots, a or b, with the keys that its rows are sealed by now."""
        return SlotMove(self.index, "a" if slot == "a" else "b", self.columns, self._keys())

    def serving(self) -> Field | CompoundTerms:
        """What makes the terms."""
        return self.field(self.columns[0]) if self.compound is None else self.compound()

    def guard(self, slot: str, given: tuple[str, ...] = ()) -> Guard:
        """The guard of a slot; to take it away, what has to be given does not matter."""
        schema, name = self.table.schema, self.table.name
        column, keys = self.move(slot).term_column, tuple(sorted(self._keys() or ()))
        owner = "" if self.owner is None else self.owner.id.hex()
        return Guard(schema, name, given or self.columns, column, owner, self.columns[0], keys)

    def _keys(self) -> frozenset[bytes] | None:
        if self.owner is None:
            return None
        return frozenset(record.key_id for record in self.owner.records(Purpose.DATA))
