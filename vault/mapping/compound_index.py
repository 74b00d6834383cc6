"""Compound index: a declaration in a table's arguments, by which rows are looked up by several sealed columns at once.

Its terms stand in two hidden columns of the table, <name>_a and <name>_b.
"""

# ruff: noqa: SLF001  # that a column is hidden has no public name: sqlalchemy<2.2 is pinned, and tests read it

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Column, Table
from sqlalchemy.schema import SchemaItem

from vault.codecs.padding import unpadded_id
from vault.definitions.index_definition import CompoundDefinition, CompoundPart, compound_term_column
from vault.definitions.index_slot import SLOTS, Slot
from vault.errors import DefinitionError
from vault.mapping.declared_type import most_values
from vault.mapping.kept_name import require_kept
from vault.mapping.reflected import is_read_terms
from vault.mapping.sealed_column import FEW_VALUES, Declaration, SealedColumn
from vault.mapping.term_column import TermColumn, as_term_column
from vault.mapping.term_type import Term
from vault.normalise import Normaliser, exact
from vault.terms.slow import Argon2id
from vault.terms.term import RFC_2104_SHA_256_BITS, check_width, slow_hash, term_bytes

__all__ = ["CompoundColumn", "CompoundIndex", "CompoundTerm", "complete_compound", "compounds_of", "declared_compounds"]

Part = str | tuple[str, Normaliser]


class CompoundIndex(SchemaItem):
    """CompoundIndex("name_and_birth", ("name", casefold), "birth") in __table_args__ or among a Table's arguments.

    parts: sealed columns of the table in order, by key, each alone or with its normaliser. bits, slow, low_entropy: as
    of BlindIndex. unique: no two rows have all parts equal; a row in which one is NULL is like no other.
    keyring, scope: refused, the key is the index's own in the keyring of its row.
    Raises: DefinitionError, here or when the table has its columns.
    """

    __visit_name__ = "noisevault_compound_index"

    def __init__(
        self,
        name: str,
        *parts: Part,
        bits: int = RFC_2104_SHA_256_BITS,
        unique: bool = False,
        slow: Argon2id | bool | None = None,
        low_entropy: bool = False,
        keyring: None = None,
        scope: None = None,
    ) -> None:
        if keyring is not None or scope is not None:
            raise DefinitionError(
                f"the index {name} over several columns has a key of its own in the keyring of its row: keyring= and"
                " scope= are of a BlindIndex, of one column"
            )
        self.name = name
        self.parts = tuple((part, exact) if isinstance(part, str) else part for part in parts)
        check_width(bits)
        self.bits = bits
        self.unique = unique
        self.slow = slow_hash(slow)
        self.low_entropy = low_entropy

    def __repr__(self) -> str:
        parts = ", ".join(repr(key if rule == exact else (key, rule.id)) for key, rule in self.parts)
        return f"CompoundIndex({self.name!r}, {parts})"

    def _set_parent(self, parent: Any, **_kwargs: Any) -> None:
        if not isinstance(parent, Table):
            raise DefinitionError(f"{self!r} belongs among the arguments of a table")
        _declared.setdefault(parent, []).append(self)


_declared: "WeakKeyDictionary[Table, list[CompoundIndex]]" = WeakKeyDictionary()


class CompoundTerm(Term):
    """The type of its term columns. It keeps the declaration, so that a copied table has it too."""

    cache_ok = True

    def __init__(self, length: int, compound: CompoundIndex, joins: str, exact: bool) -> None:
        super().__init__(length, joins, exact)
        self.compound = compound


class CompoundColumn:
    """An index over several columns of one table, with what follows from its declaration. It holds no key."""

    def __init__(self, table: Table, declared: CompoundIndex) -> None:
        self.table = table
        self.declared = declared

    def __repr__(self) -> str:
        return f"<compound index {self.label}>"

    @property
    def label(self) -> str:
        """The SQL names, as messages show them."""
        return f"{self.table.name}.{self.declared.name}"

    @cached_property
    def parts(self) -> tuple[SealedColumn, ...]:
        """Raises: DefinitionError for a part that is no sealed column of the table."""
        found = []
        for key, _ in self.declared.parts:
            column = self.table.c.get(key)
            owner = getattr(column.type, "owner", None) if column is not None else None
            if column is None or not isinstance(column.type, Declaration) or owner is None:
                raise DefinitionError(f"{self.label} is over {key}, which is no sealed column of {self.table.name}")
            found.append(owner)
        return tuple(found)

    @cached_property
    def definition(self) -> CompoundDefinition:
        """Raises: DefinitionError."""
        definitions = [part.definition for part in self.parts]
        tables = {definition.table for definition in definitions}
        if len(tables) > 1:
            raise DefinitionError(f"{self.label}: its columns have different table= names: give all of them one")
        return CompoundDefinition(
            min(tables, default=self.table.name),
            self.declared.name,
            tuple(
                CompoundPart(definition.column, unpadded_id(definition.codec), normaliser)
                for definition, (_, normaliser) in zip(definitions, self.declared.parts, strict=True)
            ),
            self.declared.bits,
            self.declared.slow,
        )

    @cached_property
    def tenant(self) -> "Column[Any] | None":
        """The column that says whose keyring makes the row's term. Raises: DefinitionError."""
        named = {part.tenant for part in self.parts}
        if len(named) > 1:
            raise DefinitionError(
                f"{self.label}: its columns name their tenant otherwise: give all of them one tenant="
            )
        return next(iter(named), None)

    @cached_property
    def given(self) -> tuple[Callable[[Any], Any] | None, ...]:
        """For each part, what is handed over for a value that is written, where it is not the value itself."""
        return tuple(part.given for part in self.parts)

    def handed_over(self, row: Sequence[Any]) -> list[Any]:
        """The values of a row's parts as the codecs take them. Raises: InvalidValueError."""
        return [
            value if convert is None or value is None else convert(value)
            for convert, value in zip(self.given, row, strict=True)
        ]

    def asked_values(self, row: Sequence[Any]) -> list[Any]:
        """As handed_over, for what is asked for: a part of a value goes as it is."""
        rules = [rule for _, rule in self.declared.parts]
        return [
            value if rule.partial or convert is None else convert(value)
            for rule, convert, value in zip(rules, self.given, row, strict=True)
        ]

    def term_column(self, slot: Slot) -> "Column[Any]":
        """The hidden column that holds one slot's terms."""
        return self.table.c[compound_term_column(self.declared.name, slot)]

    def check(self) -> None:
        """Refuse a declaration that cannot work. Raises: DefinitionError."""
        if self.declared.unique and not self.definition.answers_equality:
            raise DefinitionError(f"{self.label}: unique=True needs a full-length index over whole values")
        require_kept(self.label, (compound_term_column(self.declared.name, slot) for slot in SLOTS))
        _ = self.tenant
        for part in self.parts:
            if part.plaintext is not None:
                raise DefinitionError(
                    f"{self.label} is over {part.column.name}, which is migrating: declare the index when that is done"
                )
        counts = [most_values(part.type.stored) for part in self.parts]
        rows = 1
        for count in counts:
            rows *= FEW_VALUES + 1 if count is None else count
        if rows <= FEW_VALUES and not self.declared.low_entropy:
            raise DefinitionError(
                f"{self.label} has {rows} values at most, and would show which rows have which: leave it out and filter"
                " after reading, or insist by CompoundIndex(..., low_entropy=True)"
            )


def declared_compounds(table: Table) -> list[CompoundIndex]:
    """Those that a table was given, and those that its copied term columns tell of."""
    copied = [column.type.compound for column in table.columns if isinstance(column.type, CompoundTerm)]
    return list(dict.fromkeys([*_declared.get(table, []), *copied]))


def complete_compound(table: Table, declared: CompoundIndex) -> None:
    """Add its term columns to a table that has its columns. Raises: DefinitionError."""
    compound = CompoundColumn(table, declared)
    definition = compound.definition
    compound.check()
    for slot in SLOTS:
        name = compound_term_column(declared.name, slot)
        kind = CompoundTerm(
            term_bytes(declared.bits), declared, f"{definition.table} {definition.name}", definition.answers_equality
        )
        there = table.c.get(name)
        if there is None:
            sibling: Column[Any] = (TermColumn if slot == "a" else Column)(
                name,
                kind,
                index=slot == "a" or None,
                unique=(slot == "a" and declared.unique) or None,
                _omit_from_statements=True,
            )
            table.append_column(sibling)
        elif not isinstance(there.type, CompoundTerm) and not is_read_terms(there):
            raise DefinitionError(
                f"{compound.label} needs the name {name} for its terms: rename that column or the index"
            )
        else:
            if slot == "a" and not isinstance(there, TermColumn):
                there = as_term_column(there)
            there.type = kind
            there._omit_from_statements = True


def compounds_of(table: Table) -> tuple[CompoundColumn, ...]:
    """The indexes over several columns that a table has, in order."""
    return tuple(CompoundColumn(table, declared) for declared in declared_compounds(table))
