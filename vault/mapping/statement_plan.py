"""Statement plan: which slot of each index one statement asks and writes, from its begin to its end.

An index changes over while statements run. Each statement takes an index's plan once, when it first needs it, and
keeps it: for the terms it computes, the columns it names and the slots it writes, however often the driver is called.
"""

from collections.abc import Hashable
from contextvars import ContextVar
from typing import Final

from vault.definitions.index_definition import CompoundDefinition
from vault.definitions.index_slot import SLOTS, Slot
from vault.errors import SealedColumnError
from vault.field import Field
from vault.index.compound_terms import CompoundPlan, CompoundTerms
from vault.index.field_plan import FieldPlan
from vault.index.slot_plan import NOT_ASKED, SlotPlan
from vault.index.slot_terms import SlotTerms
from vault.terms.term import BlindIndex

__all__ = ["PLAN", "Handed", "StatementPlan", "in_use", "plan_in_use"]

PLAN: Final = "noisevault_plan"
"""The execution option by which one execution is given its plan; without it each takes one of its own."""
NO_PLAN: Final = (
    "a sealed column is asked on a way that does not choose the index's column: execute the statement itself by a"
    " session or connection"
)
INEXACT: Final = (
    "{} is answered now by an index that is truncated or partial, whose terms unequal values share: ask by find() or"
    " find_all(), which open and compare, and declare the index as it is by now"
)


class StatementPlan:
    """Of one statement, in one thread. found: what asked_terms gave, kept by its callers for one another."""

    __slots__ = ("_compared", "_compounds", "_fields", "_shared", "found")

    def __init__(self, compared: bool = False) -> None:
        """compared: rows are opened and compared afterwards, so that terms may be equal by chance."""
        self._compared = compared
        self._fields: dict[Field, FieldPlan] = {}
        self._compounds: dict[CompoundTerms, CompoundPlan] | None = None
        self._shared: dict[tuple[bytes, str], Slot] | None = None
        self.found: dict[Hashable, tuple[Slot, SlotTerms]] = {}

    def of(self, field: Field) -> FieldPlan:
        """The plan of a field, the same each time. Raises: DefinitionError, KmsError."""
        plan = self._fields.get(field)
        if plan is None:
            plan = self._fields[field] = field.plan()
        return plan

    def of_compound(self, terms: CompoundTerms) -> CompoundPlan:
        """As of, for an index over several columns."""
        if self._compounds is None:
            self._compounds = {}
        plan = self._compounds.get(terms)
        if plan is None:
            plan = self._compounds[terms] = terms.plan()
        return plan

    def asked_terms(self, field: Field, index: BlindIndex) -> tuple[Slot, SlotTerms]:
        """The slot of a field's index that is asked, of columns that share an index the same; and what makes its terms.

        Raises: SealedColumnError for an index that cannot be asked now, or not so; KmsError.
        """
        of_field = self.of(field)
        plan = of_field.of(index.name)
        slot = plan.asked
        if slot is None or not (plan.exact or self._compared):
            self._check(f"{field.definition.label} by its index {index.name!r}", plan, index)
        if slot is not None and index.scope is not None:
            if self._shared is None:
                self._shared = {}
            slot = self._shared.setdefault((field.keyring.id, index.scope), slot)
        terms = None if slot is None else of_field.slot(index.name, slot)
        if slot is None or terms is None:
            raise SealedColumnError(f"{field.definition.label}: the slot of {index.name!r} is pinned to no key")
        return slot, terms

    def asked_together(self, terms: CompoundTerms) -> Slot:
        """The slot of an index over several columns that is asked. Raises: as asked_terms."""
        plan = self.of_compound(terms).does
        self._check(terms.definition.label, plan, terms.definition)
        return plan.asked or SLOTS[0]

    def _check(self, label: str, plan: SlotPlan, declared: BlindIndex | CompoundDefinition) -> None:
        if plan.asked is None:
            raise SealedColumnError(f"{label} {NOT_ASKED}")
        if declared.answers_equality and not plan.exact and not self._compared:
            raise SealedColumnError(INEXACT.format(label))


class Handed:
    """Carries the plan of an INSERT or UPDATE from where it was sealed to where its values are bound, and no further:
    SQLAlchemy keeps compiled statements, and a plan holds keys.
    """

    __slots__ = ("_plan",)

    def __init__(self, plan: StatementPlan) -> None:
        self._plan: StatementPlan | None = plan

    def take(self) -> StatementPlan | None:
        plan, self._plan = self._plan, None
        return plan


in_use: ContextVar[StatementPlan | None] = ContextVar("noisevault_statement_plan", default=None)
"""Set while the values of a statement are bound."""


def plan_in_use() -> StatementPlan:
    """The plan of the statement whose values are bound now. Raises: SealedColumnError where there is none."""
    plan = in_use.get()
    if plan is None:
        raise SealedColumnError(NO_PLAN)
    return plan
