"""Finding: one value or index term of a row that is not as it should be, by kind and reason, without a value."""

from dataclasses import dataclass
from enum import StrEnum

from vault.errors import (
    DestroyedKeyError,
    FieldError,
    NotSealedError,
    RetiredKeyError,
    UnknownGenerationError,
    UnknownKeyError,
)
from vault.jobs.change import Failed, Key

__all__ = ["Finding", "FindingKind", "kind_of"]


class FindingKind(StrEnum):
    """As operators read it and programs compare it."""

    DOES_NOT_OPEN = "does not open"
    UNKNOWN_KEY = "unknown key"
    RETIRED_KEY = "retired key"
    DESTROYED_KEY = "destroyed key"
    UNKNOWN_GENERATION = "unknown generation"
    NOT_SEALED = "not sealed"
    TERM_WRONG = "term is wrong"
    TERM_LACKING = "term is lacking"
    TERM_WITHOUT_VALUE = "term without a value"
    TERM_WITHOUT_KEY = "term in a slot without a key"
    TERM_NOT_MADE = "term cannot be made"
    UNBOUND = "dataset does not bind its unit"


# The first that fits; a class before those that it is one of.
KINDS: tuple[tuple[type[FieldError], FindingKind], ...] = (
    (NotSealedError, FindingKind.NOT_SEALED),
    (DestroyedKeyError, FindingKind.DESTROYED_KEY),
    (RetiredKeyError, FindingKind.RETIRED_KEY),
    (UnknownKeyError, FindingKind.UNKNOWN_KEY),
    (UnknownGenerationError, FindingKind.UNKNOWN_GENERATION),
)


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """column: of the value, or of the term. reason: for an operator; it never holds a value."""

    key: Key
    column: str
    kind: FindingKind
    reason: str

    def failed(self) -> Failed:
        """As the quarantine lists it."""
        return Failed(self.key, self.column, f"{self.kind}: {self.reason}")


def kind_of(error: FieldError) -> FindingKind:
    """The kind of finding that a value is which raises this when it is opened."""
    return next((kind for raised, kind in KINDS if isinstance(error, raised)), FindingKind.DOES_NOT_OPEN)
