"""Field definition: everything that decides a field's stored bytes, except the keys."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.definitions.row_context import BoundColumn
from vault.errors import DefinitionError
from vault.normalise import TEXT_CODECS, Normaliser
from vault.normalisers import normaliser_named
from vault.terms.slow import Argon2id
from vault.terms.term import BlindIndex

__all__ = ["FieldDefinition", "check_name", "refuse_foreign_normaliser", "slow_from_json", "slow_to_json"]

FORMAT_NAME: Final = "noisevault/1 field"
MAX_GENERATION: Final = 255
# Ours: what the tables of definitions hold; longer than any database's own limit.
MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class FieldDefinition:
    """table, column: context names, fixed at the first write. generation: 0 to 255, written into each value.

    table is `name` or `schema.name`. Raises: DefinitionError for a definition that cannot work.
    """

    table: str
    column: str
    codec: str
    bound: tuple[BoundColumn, ...] = ()
    indexes: tuple[BlindIndex, ...] = ()
    generation: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", tuple(self.bound))
        object.__setattr__(self, "indexes", tuple(self.indexes))
        check_name("table", self.table, dots=1)
        check_name("column", self.column)
        if not isinstance(self.codec, str):
            raise DefinitionError(f"{self.label}: a codec is named by its id, as 'str/1', not by {self.codec!r}")
        codec_named(self.codec)
        if type(self.generation) is not int or not 0 <= self.generation <= MAX_GENERATION:
            raise DefinitionError(f"{self.label}: a generation is 0 to {MAX_GENERATION}, not {self.generation!r}")
        for bound in self.bound:
            check_name("bound column", bound.name)
        for index in self.indexes:
            check_name("index", index.name)
            if index.scope is not None:
                check_name("shared index", index.scope)
            refuse_foreign_normaliser(self.label, index.normaliser, self.codec)
        for kind, names in (
            ("bound columns", [bound.name for bound in self.bound]),
            ("indexes", [index.name for index in self.indexes]),
        ):
            if len(set(names)) < len(names):
                raise DefinitionError(f"{self.label}: two {kind} have one name")

    @property
    def label(self) -> str:
        """`table.column`, as errors and counters name the field."""
        return f"{self.table}.{self.column}"

    def canonical_json(self) -> str:
        """The definition as JSON with sorted keys and no blanks, every character but controls, " and \\ as itself."""
        content = {
            "bound": [{"codec": bound.codec_id, "column": bound.name} for bound in self.bound],
            "codec": self.codec,
            "column": self.column,
            "format": FORMAT_NAME,
            "generation": self.generation,
            "indexes": [_index_to_json(index) for index in self.indexes],
            "table": self.table,
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON in UTF-8, 64 hex digits."""
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> "FieldDefinition":
        """The definition that canonical_json wrote. Raises: DefinitionError for anything else."""
        definition = cls._read(text)
        if definition is None or definition.canonical_json() != text:
            raise DefinitionError("the recorded definition of a field is not one that this version can read")
        return definition

    @classmethod
    def _read(cls, text: str) -> "FieldDefinition | None":
        try:
            content: Any = json.loads(text)
            return cls(
                content["table"],
                content["column"],
                content["codec"],
                tuple(BoundColumn(bound["column"], bound["codec"]) for bound in content["bound"]),
                tuple(
                    BlindIndex(
                        normaliser_named(index["normaliser"]),
                        index["bits"],
                        index["name"],
                        keyring=index.get("keyring"),
                        scope=index.get("scope"),
                        slow=slow_from_json(index),
                    )
                    for index in content["indexes"]
                ),
                content["generation"],
            )
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return None


def slow_to_json(argon2id: Argon2id | None) -> dict[str, dict[str, int]]:
    """The member `slow`, left out where nothing is stretched."""
    if argon2id is None:
        return {}
    names = ("iterations", "lanes", "memory_kib")
    return {"slow": {name: getattr(argon2id, name) for name in names}}


def slow_from_json(content: Any) -> Argon2id | None:
    """Raises: KeyError, TypeError, DefinitionError."""
    return Argon2id(**content["slow"]) if "slow" in content else None


def _index_to_json(index: BlindIndex) -> dict[str, Any]:
    home = {} if index.keyring is None else {"keyring": index.keyring}
    shared = {} if index.scope is None else {"scope": index.scope}
    return {
        "bits": index.bits,
        "name": index.name,
        "normaliser": index.normaliser.id,
        **home,
        **shared,
        **slow_to_json(index.argon2id),
    }


def refuse_foreign_normaliser(label: str, normaliser: Normaliser, codec: str) -> None:
    """Raises: DefinitionError for a normaliser of values that the codec does not hold."""
    if not normaliser.codecs or unpadded_id(codec) in normaliser.codecs:
        return
    kinds = "text" if normaliser.codecs == TEXT_CODECS else " or ".join(normaliser.codecs)
    raise DefinitionError(f"{label}: {normaliser.id} is for {kinds}, the field is {codec}")


def check_name(what: str, name: object, dots: int = 0) -> None:
    """Names are framed into keys and joined by dots in messages, so they are text with no dot of their own."""
    if not isinstance(name, str) or not all(name.split(".")) or name.count(".") > dots:
        raise DefinitionError(f"a {what} needs a non-empty name without dots, not {name!r}: give it a context name")
    longest = MAX_NAME * (dots + 1) - dots
    if len(name) > longest:
        raise DefinitionError(f"a {what} name has at most {longest} characters")
    if any("\ud800" <= sign <= "\udfff" for sign in name):
        raise DefinitionError(f"the {what} name {name!a} has a lone surrogate")
