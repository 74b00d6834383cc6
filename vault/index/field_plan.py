"""Field plan: what the slots of a field's indexes do, as one statement sees it from its begin to its end.

It holds the slots' terms too, so that the column that is asked and the term that it is compared with agree, whatever
happens to the index meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from vault.definitions.index_slot import SLOTS, Slot, term_column
from vault.errors import DefinitionError
from vault.index.slot_plan import NOT_ASKED, SlotPlan
from vault.index.slot_terms import SlotTerms

__all__ = ["FieldPlan", "Until"]

NO_INDEX: Final = "has no index {!r}; there are: {}"


class Until(Protocol):
    """Until when a plan may be used to begin a statement with, by the keyring's clock."""

    @property
    def until(self) -> float: ...


class FieldPlan:
    """Immutable, shared by threads. The field gives another when something changed.

    indexes: by name. columns: all term columns in order, slots a and b of each index; names as in the definition.
    written: those of them that a write fills; a term in one of them is None for NULL, and where a partial index finds
    no part. The others are left out of an INSERT and set to NULL by an UPDATE.
    """

    __slots__ = ("_column", "_slots", "columns", "indexes", "leased", "written")

    def __init__(
        self, column: str, indexes: Mapping[str, SlotPlan], slots: Mapping[str, SlotTerms | None], leased: Until
    ) -> None:
        """slots: by term column, what makes its terms; None for a slot that is not pinned."""
        self._column = column
        self.indexes = indexes
        self.leased = leased
        self.columns = tuple(term_column(column, name, slot) for name in indexes for slot in SLOTS)
        self.written = frozenset(term_column(column, name, s) for name, plan in indexes.items() for s in plan.written)
        self._slots = slots

    def terms(self, value: object) -> dict[str, bytes | None]:
        """The term of one value for each term column; None for NULL and for a slot that is not written.

        Raises: InvalidValueError without a place, UnknownKeyError, KmsError.
        """
        made: dict[str, bytes | None] = dict.fromkeys(self.columns)
        if value is not None:
            for column in self.written:
                slot = self._slots[column]
                made[column] = None if slot is None else slot.term(value)
        return made

    def terms_by_column(self, values: list[object]) -> dict[str, list[bytes | None]]:
        """As terms, for all values in order; no object is made for each value but its term."""
        made: dict[str, list[bytes | None]] = {}
        for column in self.columns:
            slot = self._slots[column] if column in self.written else None
            made[column] = [None] * len(values) if slot is None else slot.terms(values)
        return made

    def asked_term(self, index: str, asked: object) -> bytes:
        """The term that the asked slot of an index holds for what is asked for.

        Raises: as terms; DefinitionError for an index that there is not, or that cannot be asked now.
        """
        return self._asked(index).asked(asked)

    def matcher(self, index: str, asked: object) -> Callable[[object], bool]:
        """Whether an opened value is what the index is asked for: its term alone may be another value's too."""
        return self._asked(index).matcher(asked)

    def slot(self, index: str, slot: Slot) -> SlotTerms | None:
        """What makes the terms of a slot, written or not; None where it is pinned to no key."""
        self.of(index)
        return self._slots[term_column(self._column, index, slot)]

    def of(self, index: str) -> SlotPlan:
        """Raises: DefinitionError for an index that there is not."""
        if index not in self.indexes:
            raise DefinitionError(f"{self._column} {NO_INDEX.format(index, ', '.join(self.columns))}")
        return self.indexes[index]

    def _asked(self, index: str) -> SlotTerms:
        slot = self.of(index).asked
        terms = None if slot is None else self.slot(index, slot)
        if terms is None:
            raise DefinitionError(f"{self._column}: the index {index!r} {NOT_ASKED}")
        return terms
