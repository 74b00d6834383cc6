"""Drift: how a field's definition differs from the one that its data was written by, and what to do about it."""

from typing import Final

from vault.codecs.padding import unpadded_id
from vault.definitions.definition import FieldDefinition
from vault.errors import DefinitionChangedError
from vault.terms.term import BlindIndex

__all__ = ["own_indexes", "refuse_drift", "refuse_unsafe_step", "reindex_command"]

GO_BACK: Final = "declare it as recorded"
# The values' own encoding decides every term, and a slot makes terms of values as they are declared.
NEW_COLUMN: Final = "declare a new column so and copy the values into it (the terms that are stored would not be found)"


def refuse_drift(recorded: FieldDefinition, declared: FieldDefinition) -> None:
    """Compare two definitions of one generation. Raises: DefinitionChangedError."""
    if recorded == declared:
        return
    generation = recorded.generation + 1
    if _encodings_differ(recorded, declared):
        remedy = NEW_COLUMN
    elif own_indexes(recorded) != own_indexes(declared):
        remedy = f"declare generation={generation} and run: {reindex_command(declared)}"
    else:
        remedy = f"declare generation={generation} and run `noisevault reencrypt`"
    raise DefinitionChangedError(
        declared.table, declared.column, "; ".join(_differences(recorded, declared)), f"{GO_BACK}, or {remedy}"
    )


def refuse_unsafe_step(before: FieldDefinition, declared: FieldDefinition) -> None:
    """Check a new generation against the one before: values move by re-encryption, terms by re-indexing.

    Raises: DefinitionChangedError for a step that would leave terms behind that no look-up finds.
    """
    if _encodings_differ(before, declared):
        remedy = NEW_COLUMN
    elif own_indexes(before) != own_indexes(declared):
        remedy = f"run this first, which records it: {reindex_command(declared)}"
    else:
        return
    raise DefinitionChangedError(
        declared.table, declared.column, "; ".join(_differences(before, declared)), f"{GO_BACK}, or {remedy}"
    )


def own_indexes(definition: FieldDefinition) -> tuple[BlindIndex, ...]:
    """The indexes as far as the field's own definition decides them: how a shared one works is its scope's to say."""
    return tuple(
        index if index.scope is None else BlindIndex(name=index.name, scope=index.scope) for index in definition.indexes
    )


def reindex_command(definition: FieldDefinition) -> str:
    """What an operator runs to move the field's indexes."""
    return f"noisevault reindex {definition.label}"


def _encodings_differ(before: FieldDefinition, after: FieldDefinition) -> bool:
    """Whether stored terms are of other encodings of the values. Padding is no part of them."""
    if not before.indexes or not after.indexes:
        return False
    return unpadded_id(before.codec) != unpadded_id(after.codec)


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
