"""Drift: how a field's definition differs from the one that its data was written by, and what to do about it."""

from typing import Final

from vault.codecs.padding import unpadded_id
from vault.definition import FieldDefinition
from vault.errors import DefinitionChangedError
from vault.term import BlindIndex

__all__ = ["refuse_drift", "refuse_unsafe_step"]

GO_BACK: Final = "declare it as recorded"
# The job that will add or change an index in place is named, so that what to wait for is known.
NEW_COLUMN: Final = (
    "declare a new column so and copy the values into it (the terms that are stored would not be found; a job that"
    " makes them anew in place, reindex, is not there yet)"
)


def refuse_drift(recorded: FieldDefinition, declared: FieldDefinition) -> None:
    """Compare two definitions of one generation. Raises: DefinitionChangedError."""
    if recorded == declared:
        return
    remedies = [GO_BACK]
    if _terms_differ(recorded, declared):
        remedies.append(NEW_COLUMN)
    else:
        remedies.append(f"declare generation={recorded.generation + 1} and run `noisevault reencrypt`")
    raise DefinitionChangedError(
        declared.table, declared.column, "; ".join(_differences(recorded, declared)), ", or ".join(remedies)
    )


def refuse_unsafe_step(before: FieldDefinition, declared: FieldDefinition) -> None:
    """Check a new generation against the one before: values move by re-encryption, terms only by re-indexing.

    Raises: DefinitionChangedError for a step that would leave terms behind that no look-up finds.
    """
    if _terms_differ(before, declared):
        raise DefinitionChangedError(
            declared.table,
            declared.column,
            "; ".join(_differences(before, declared)),
            f"{GO_BACK}, or {NEW_COLUMN}",
        )


def _terms_differ(before: FieldDefinition, after: FieldDefinition) -> bool:
    """Whether stored terms would not be found. Padding is no part of them."""
    if before.indexes != after.indexes:
        return True
    return bool(after.indexes) and unpadded_id(before.codec) != unpadded_id(after.codec)


def _differences(recorded: FieldDefinition, declared: FieldDefinition) -> list[str]:
    pairs = (
        ("codec", recorded.codec, declared.codec),
        ("bound columns", _bound(recorded), _bound(declared)),
        ("indexes", _indexes(recorded), _indexes(declared)),
    )
    return [f"{what} recorded {was}, declared {now}" for what, was, now in pairs if was != now]


def _bound(definition: FieldDefinition) -> str:
    return ", ".join(f"{bound.name} as {bound.codec_id}" for bound in definition.bound) or "none"


def _indexes(definition: FieldDefinition) -> str:
    return ", ".join(map(_index, definition.indexes)) or "none"


def _index(index: BlindIndex) -> str:
    home = "" if index.keyring is None else f", in keyring {index.keyring}"
    shared = "" if index.scope is None else f", shared as {index.scope}"
    slow = "" if index.argon2id is None else f", slow by {index.argon2id}"
    return f"{index.name} ({index.normaliser.id}, {index.bits} bits{home}{shared}{slow})"
