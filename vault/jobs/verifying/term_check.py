"""Term check: whether the stored terms of opened values are what their slot's pin makes of them."""

from collections.abc import Callable, Sequence
from typing import Any

from vault.definitions.index_slot import SlotPin
from vault.errors import FieldError
from vault.jobs.verifying.finding import FindingKind
from vault.terms.term import term_prefix

__all__ = ["Fault", "term_faults", "terms_of_nothing"]

Fault = tuple[int, FindingKind, str]
"""The place in the batch, what is wrong, and why."""
Terms = Callable[[list[Any]], Sequence[bytes | None]]

NO_VALUE = "the row has no value that it could be the term of"
NO_KEY = "no key is pinned to this slot, so that nothing asks it and nothing writes it"


def term_faults(stored: Sequence[Any], values: list[Any], make: Terms, pin: SlotPin, *, complete: bool) -> list[Fault]:
    """values: opened, none NULL. make: the slot's terms of values, or of rows of parts.

    complete: whether a lacking term is a fault: not in a slot that is being filled or emptied.
    Raises: KmsError; FieldError becomes a fault of the value that it is about.
    """
    try:
        expected: Sequence[Any] = make(values)
    except FieldError:
        expected = [_alone(make, value) for value in values]
    if list(stored) == list(expected):  # the way of nearly every page
        return []
    faults: list[Fault] = []
    for at, (found, term) in enumerate(zip(stored, expected, strict=True)):
        if isinstance(term, FieldError):
            if found is not None or complete:
                faults.append((at, FindingKind.TERM_NOT_MADE, term.reason))
        elif found != term:
            if found is not None:
                faults.append((at, FindingKind.TERM_WRONG, _why(found, term, pin)))
            elif complete:
                faults.append((at, FindingKind.TERM_LACKING, "the row has a value, and no look-up finds it"))
    return faults


def terms_of_nothing(stored: Sequence[Any], *, pinned: bool = True) -> list[Fault]:
    """The terms that stand where there can be none: beside NULL, or in a slot without a key."""
    kind, reason = (FindingKind.TERM_WITHOUT_VALUE, NO_VALUE) if pinned else (FindingKind.TERM_WITHOUT_KEY, NO_KEY)
    return [(at, kind, reason) for at, found in enumerate(stored) if found is not None]


def _alone(make: Terms, value: Any) -> bytes | FieldError | None:
    try:
        return make([value])[0]
    except FieldError as error:
        return error


def _why(found: Any, term: bytes | None, pin: SlotPin) -> str:
    prefix = term_prefix(pin.generation, pin.key_id)
    if term is None:
        return "the index takes a part of the value, which it has not"
    if not isinstance(found, bytes) or len(found) < len(prefix):
        return "these bytes are no term"
    if found[: len(prefix)] != prefix:
        return (
            f"made by index key {found[1:5].hex()} in generation {found[0]}, where the slot has key {pin.key_id.hex()}"
            f" in generation {pin.generation}"
        )
    return "it is another value's, or its bytes were changed"
