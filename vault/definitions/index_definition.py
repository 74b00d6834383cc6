"""Index definitions: what decides the terms of an index that is shared by columns, or that is over several.

As a field's definition each is recorded as canonical JSON by generation, so that a start-up finds a drift.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.definitions.definition import (
    MAX_GENERATION,
    FieldDefinition,
    check_name,
    refuse_foreign_normaliser,
    slow_from_json,
    slow_to_json,
)
from vault.definitions.index_slot import SLOTS, Slot
from vault.errors import DefinitionError
from vault.normalise import Normaliser, exact
from vault.normalisers import normaliser_named
from vault.terms.slow import Argon2id
from vault.terms.term import RFC_2104_SHA_256_BITS, BlindIndex, check_width, slow_hash

__all__ = ["CompoundDefinition", "CompoundPart", "IndexDefinition", "SharedDefinition", "shared_definitions"]

MOST_PARTS: Final = 16


@dataclass(frozen=True, slots=True)
class SharedDefinition:
    """An index that columns share by the name of its scope: all of them make their terms like this."""

    FORMAT: ClassVar[str] = "noisevault/1 shared index"
    scope: str
    codec: str
    normaliser: Normaliser = exact
    bits: int = RFC_2104_SHA_256_BITS
    argon2id: Argon2id | None = None
    generation: int = 0

    @property
    def place(self) -> tuple[str, str]:
        """Under which table and name it is recorded; no table has an empty name."""
        return "", self.scope

    @property
    def label(self) -> str:
        return f"shared index {self.scope}"

    def canonical_json(self) -> str:
        return _canonical(
            {
                "bits": self.bits,
                "codec": self.codec,
                "format": self.FORMAT,
                "generation": self.generation,
                "normaliser": self.normaliser.id,
                "scope": self.scope,
                **slow_to_json(self.argon2id),
            }
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON in UTF-8, 64 hex digits."""
        return _fingerprint(self)

    def __str__(self) -> str:
        return f"{self.codec}, {_said(self.normaliser, self.bits, self.argon2id)}"


@dataclass(frozen=True, slots=True)
class CompoundPart:
    """One column of an index over several: its context name, its codec without padding, what is compared."""

    column: str
    codec: str
    normaliser: Normaliser = exact

    def __post_init__(self) -> None:
        check_name("column", self.column)
        if unpadded_id(self.codec) != self.codec:
            raise DefinitionError(f"{self.column}: padding is no part of an index: name the codec without it")
        codec_named(self.codec)
        refuse_foreign_normaliser(self.column, self.normaliser, self.codec)


@dataclass(frozen=True, slots=True)
class CompoundDefinition:
    """An index over several columns of one table, in order."""

    FORMAT: ClassVar[str] = "noisevault/1 compound index"
    table: str
    name: str
    parts: tuple[CompoundPart, ...]
    bits: int = RFC_2104_SHA_256_BITS
    argon2id: Argon2id | None = None
    generation: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "argon2id", slow_hash(self.argon2id))
        check_name("table", self.table, dots=1)
        check_name("index", self.name)
        check_width(self.bits)
        if not 2 <= len(self.parts) <= MOST_PARTS or len({part.column for part in self.parts}) < len(self.parts):
            raise DefinitionError(f"{self.label}: a compound index is over 2 to {MOST_PARTS} columns, each named once")
        if type(self.generation) is not int or not 0 <= self.generation <= MAX_GENERATION:
            raise DefinitionError(f"{self.label}: a generation is 0 to {MAX_GENERATION}, not {self.generation!r}")

    @property
    def place(self) -> tuple[str, str]:
        """Under which table and name it is recorded."""
        return self.table, self.name

    @property
    def label(self) -> str:
        return f"compound index {self.table}.{self.name}"

    @property
    def answers_equality(self) -> bool:
        """Whether equal terms mean equal (normalised) values of all parts."""
        return self.bits == RFC_2104_SHA_256_BITS and not any(part.normaliser.partial for part in self.parts)

    def canonical_json(self) -> str:
        return _canonical(
            {
                "bits": self.bits,
                "format": self.FORMAT,
                "generation": self.generation,
                "name": self.name,
                "parts": [
                    {"codec": part.codec, "column": part.column, "normaliser": part.normaliser.id}
                    for part in self.parts
                ],
                "table": self.table,
                **slow_to_json(self.argon2id),
            }
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON in UTF-8, 64 hex digits."""
        return _fingerprint(self)

    def __str__(self) -> str:
        columns = ", ".join(f"{part.column} as {part.codec} by {part.normaliser.id}" for part in self.parts)
        return f"{columns}; {self.bits} bits{_slowly(self.argon2id)}"


IndexDefinition = SharedDefinition | CompoundDefinition


def compound_term_column(name: str, slot: Slot) -> str:
    """The name of the column that holds the terms of one slot of an index over several columns."""
    return f"{name}_{slot}"


def compound_term_columns(name: str) -> tuple[str, ...]:
    """Both of them."""
    return tuple(compound_term_column(name, slot) for slot in SLOTS)


def shared_definitions(definition: FieldDefinition) -> dict[str, SharedDefinition]:
    """What a field says of each scope that it shares, by the name of its index."""
    return {index.name: _shared(definition, index) for index in definition.indexes if index.scope is not None}


def _shared(definition: FieldDefinition, index: BlindIndex) -> SharedDefinition:
    return SharedDefinition(
        str(index.scope), unpadded_id(definition.codec), index.normaliser, index.bits, index.argon2id
    )


def index_from_json(text: str) -> IndexDefinition:
    """The definition that canonical_json wrote. Raises: DefinitionError for anything else."""
    definition = _read(text)
    if definition is None or definition.canonical_json() != text:
        raise DefinitionError("the recorded definition of an index is not one that this version can read")
    return definition


def _read(text: str) -> IndexDefinition | None:
    try:
        content: Any = json.loads(text)
        common = (content["bits"], slow_from_json(content), content["generation"])
        if content["format"] == CompoundDefinition.FORMAT:
            parts = [
                CompoundPart(part["column"], part["codec"], normaliser_named(part["normaliser"]))
                for part in content["parts"]
            ]
            return CompoundDefinition(content["table"], content["name"], tuple(parts), *common)
        normaliser = normaliser_named(content["normaliser"])
        # A field of that codec with such an index refuses what cannot work.
        index = BlindIndex(normaliser, content["bits"], scope=content["scope"])
        FieldDefinition("t", "c", content["codec"], indexes=(index,), generation=content["generation"])
        if unpadded_id(content["codec"]) != content["codec"]:
            return None
        return SharedDefinition(content["scope"], content["codec"], normaliser, *common)
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
        return None


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _fingerprint(definition: IndexDefinition) -> str:
    return hashlib.sha256(definition.canonical_json().encode()).hexdigest()


def _said(normaliser: Normaliser, bits: int, argon2id: Argon2id | None) -> str:
    return f"{normaliser.id}, {bits} bits{_slowly(argon2id)}"


def _slowly(argon2id: Argon2id | None) -> str:
    return "" if argon2id is None else f", {argon2id}"
