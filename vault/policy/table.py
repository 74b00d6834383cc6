"""Table policy: the columns of one table, which of them are sealed, and how they are bound and found."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from vault.policy.name import Name
from vault.policy.section import Section

ColumnType = Literal["int", "float", "str", "bytes", "bool", "decimal", "date", "datetime", "uuid"]
NormaliserName = Literal[
    "exact", "trimmed", "digits", "casefold", "email", "phone", "last_four", "domain", "year", "month"
]
PARTIAL = ("last_four", "domain", "year", "month")
# How pydantic names the two spellings of `index` in the place of an error.
ONE, SEVERAL = "one index", "several indexes"


class IndexPolicy(Section):
    """A blind index: look-ups by equality of what the normaliser gives.

    name: `bidx` unless given. bits: 256 answers equality, of fewer each row found is opened and compared. region,
    metadata: of phone. scope: shared by the columns that name it. keyring: the one that it lives in, where that is not
    the policy's. slow: argon2id. low_entropy: insist on few values.
    """

    normalise: NormaliserName = "exact"
    name: Name = "bidx"
    bits: Annotated[int, Field(ge=1, le=256)] = 256
    region: Annotated[str, Field(pattern="^[A-Z]{2}$")] | None = None
    metadata: str | None = None
    scope: Name | None = None
    keyring: Annotated[str, Field(min_length=1)] | None = None
    slow: bool = False
    low_entropy: bool = False

    @property
    def partial(self) -> bool:
        """Whether it is asked for a part of a value."""
        return self.normalise in PARTIAL

    @property
    def answers_equality(self) -> bool:
        """Whether the database may compare its terms."""
        return self.bits == 256 and not self.partial


class CompoundPolicy(Section):
    """A blind index over several sealed columns. normalise: by column; exact where it is not said."""

    columns: Annotated[tuple[Name, ...], Field(strict=False, min_length=2)]
    normalise: dict[Name, NormaliserName] = Field(default_factory=dict)
    bits: Annotated[int, Field(ge=1, le=256)] = 256
    unique: bool = False
    slow: bool = False


def _spelling(given: Any) -> str:
    return SEVERAL if isinstance(given, list | tuple) else ONE


class ColumnPolicy(Section):
    """One column. Plain unless `sealed`; may be NULL unless it is a key or says `nullable = false`.

    generation: of the definition of a sealed one, counted up when it changes.
    migrating: the name of the column that holds the plaintext of a sealed one while the field is migrated.
    """

    type: ColumnType
    sealed: bool = False
    migrating: Name | None = None
    bind: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    index: (
        Annotated[
            Annotated[IndexPolicy, Tag(ONE)]
            | Annotated[tuple[IndexPolicy, ...], Field(strict=False, min_length=1), Tag(SEVERAL)],
            Discriminator(_spelling),
        ]
        | None
    ) = None
    nullable: bool | None = None
    generation: Annotated[int, Field(ge=0, le=255)] = 0

    @property
    def indexes(self) -> tuple[IndexPolicy, ...]:
        """Its indexes in order; the first that answers equality is asked for it."""
        if self.index is None:
            return ()
        return (self.index,) if isinstance(self.index, IndexPolicy) else self.index


class TablePolicy(Section):
    """One table: its primary key, its columns by name in the order of the file, and indexes over several of them."""

    key: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    column: Annotated[dict[Name, ColumnPolicy], Field(min_length=1)]
    index: dict[Name, CompoundPolicy] = Field(default_factory=dict)

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
