"""Table policy: the columns of one table, which of them are sealed, and how they are bound and found."""

from typing import Annotated, Literal

from pydantic import Field

from vault.policy.name import Name
from vault.policy.section import Section

ColumnType = Literal["int", "float", "str", "bytes", "bool", "decimal", "date", "datetime", "uuid"]
NormaliserName = Literal["exact", "trimmed", "digits", "casefold"]


class IndexPolicy(Section):
    """A blind index: look-ups by equality of what the normaliser gives."""

    normalise: NormaliserName = "exact"


class ColumnPolicy(Section):
    """One column. Plain unless `sealed`; may be NULL unless it is a key or says `nullable = false`."""

    type: ColumnType
    sealed: bool = False
    bind: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    index: IndexPolicy | None = None
    nullable: bool | None = None


class TablePolicy(Section):
    """One table: its primary key, and its columns by name in the order of the file."""

    key: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    column: Annotated[dict[Name, ColumnPolicy], Field(min_length=1)]

    def nullable(self, name: str) -> bool:
        """Whether a row may leave the column empty: yes by default, never for a key column."""
        return name not in self.key and self.column[name].nullable is not False

    def is_made(self, name: str) -> bool:  # noqa: ARG002
        """Whether a value is made for the column where none is given: never, in a policy."""
        return False

    @property
    def sealed(self) -> tuple[str, ...]:
        """The names of the sealed columns, in order."""
        return tuple(name for name, column in self.column.items() if column.sealed)
