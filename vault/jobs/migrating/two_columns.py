"""Two columns: a migrating field as its jobs meet it: what its plaintext and its sealed column hold, and whether both
say the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    CHAR,
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Date,
    Enum,
    Float,
    Integer,
    Interval,
    RowMapping,
    Select,
    String,
    Table,
    TypeDecorator,
    Uuid,
    func,
    select,
)

from vault.codecs import codec_named
from vault.errors import FieldError
from vault.jobs.change import Failed
from vault.jobs.walking.key_pages import key_of
from vault.jobs.walking.stored_key import as_declared, job_table
from vault.mapping.definitions import definition_of, plaintext_column
from vault.mapping.sealed_column import SealedColumn
from vault.opened import OpenedVault

__all__ = ["TwoColumns"]

LONGEST_NAME: Final = 32
NO_SEALED: Final = "a plaintext without a sealed value"
NO_PLAINTEXT: Final = "a sealed value without its plaintext"


class TwoColumns:
    """names: plaintext, sealed: of the columns in the database. field: that opens and seals the values.

    Compares by the codec's own encoding: text by its bytes, floats by their bits, decimals with their zeros.
    """

    def __init__(self, column: "Column[Any]", opened: OpenedVault) -> None:
        """column: the sealed one. Raises: SealedColumnError unless it migrates; DefinitionError, KmsError."""
        kind: Any = column.type
        self.owner: SealedColumn = kind.owner
        self.plaintext = plaintext_column(column).name
        self.sealed = column.name
        self.table: Table = job_table(column.table)
        self.definition = definition_of(column)
        opened.modes.mode(self.definition)  # which is recorded before the field is
        self.field = opened.field(self.definition)
        self.encode = codec_named(self.definition.codec).encode
        self.bound = [name for name in self.field.bound_names if name in self.table.c]

    def job(self, kind: str) -> str:
        """The name of a job of this field, which tells it from one of another field of the table."""
        name = f"{kind} {self.sealed}"
        short = hashlib.sha256(self.sealed.encode()).hexdigest()[:12]
        return name if len(name) <= LONGEST_NAME else f"{kind} {short}"

    def goal(self, *parts: str, proving: str) -> str:
        """Of a run that proves something, another than of one before: its passes begin anew, behind the guard.

        proving: since when the guard is there; empty for a run that proves nothing. A checkpoint from before that is
        not used, since what lies before it may have been written without the guard.
        """
        told = [self.definition.fingerprint, *parts, f"proving since {proving}" if proving else "moving"]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    @property
    def compared(self) -> list[str]:
        """What a row is compared by before it is written: the plaintext, too, where databases compare it byte by byte.

        Else the sealed value alone, which every write of a service changes; what was written past the mapping is found
        by the run that proves, which compares both values behind the guard.
        """
        alone = isinstance(self.owner.plaintext_type, JSON | Float | Interval | TypeDecorator)
        return [self.sealed] if alone else [self.plaintext, self.sealed]

    @property
    def keeps_exactly(self) -> bool:
        """Whether the plaintext column gives back what it is given; one of fewer digits, or a padded one, does not."""
        kind = self.owner.plaintext_type
        return isinstance(kind, String | Integer | Boolean | Date | Uuid) and not isinstance(kind, CHAR | Enum)

    @property
    def reads(self) -> list[str]:
        return [self.plaintext, self.sealed, *(name for name in self.bound if name != self.plaintext)]

    def old(self, row: RowMapping) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.compared)

    def context(self, row: RowMapping) -> dict[str, Any]:
        """What the row's value is bound to, as it is declared."""
        keys = self.table.primary_key.columns
        return {name: row[as_declared(name) if name in keys else name] for name in self.bound}

    def opened(self, rows: Sequence[RowMapping]) -> list[Any]:
        """What the sealed column of each row holds; the FieldError of one that does not open. Raises: KmsError."""
        contexts = [self.context(row) for row in rows] if self.bound else None
        return self.field.open_many([row[self.sealed] for row in rows], contexts, on_error="mark")

    def handed_over(self, rows: Sequence[RowMapping]) -> list[Any]:
        """What the field takes for each row's plaintext; the FieldError of one that it cannot hold."""
        values = [row[self.plaintext] for row in rows]
        return [self._one(value) for value in values]

    def are_one(self, plain: Any, opened: Any) -> bool:
        """Whether both are stored alike; of two NULLs they are."""
        if plain is None or opened is None:
            return plain is opened
        return self.encode(plain) == self.encode(opened)

    def failed(self, row: RowMapping, column: str, error: FieldError) -> Failed:
        return Failed(key_of(self.table, row), column, error.reason)

    def counted(self, others: Sequence[str], within: Sequence[ColumnElement[bool]]) -> Select[Any]:
        """All rows, counted by which of both columns, and of others, are NULL: none_<name>."""
        columns = self.table.c
        nulls = [columns[name].is_(None).label(f"none_{name}") for name in (self.plaintext, self.sealed, *others)]
        inner = select(*nulls).where(*within).subquery()
        return select(*inner.c, func.count().label("rows")).group_by(*inner.c)

    def unlike(self, group: RowMapping) -> Mapping[str, str]:
        """Of a group of counted(): which column has no value where the other one has."""
        without_plain, without_sealed = bool(group[f"none_{self.plaintext}"]), bool(group[f"none_{self.sealed}"])
        if without_plain == without_sealed:
            return {}
        return {self.plaintext: NO_PLAINTEXT} if without_plain else {self.sealed: NO_SEALED}

    def _one(self, value: Any) -> Any:
        try:
            (taken,) = self.owner.to_write([value])
            if taken is not None:
                self.encode(taken)
        except FieldError as error:
            return error
        return taken
