"""Mapped tables: an application's own tables in a policy's words, for what asks and imports by them."""

from typing import Any, Final

from sqlalchemy import Column, MetaData, Table
from sqlalchemy.types import TypeEngine

from vault.errors import DefinitionError, PolicyError
from vault.mapping.declared_type import codec_id_of
from vault.mapping.sealed_column import Declaration
from vault.mapping.table_plan import plan_of
from vault.policy import ColumnPolicy, ColumnType, IndexPolicy, TablePolicy
from vault.terms.term import BlindIndex

__all__ = ["table_policies"]

WORD_OF: Final[dict[str, ColumnType]] = {
    "int64/1": "int",
    "int/1": "int",
    "float64/1": "float",
    "str/1": "str",
    "bytes/1": "bytes",
    "bool/1": "bool",
    "decimal/1": "decimal",
    "date/1": "date",
    "datetime/1": "datetime",
    "uuid/1": "uuid",
}

NORMALISER_WORD_OF: Final = {"last4": "last_four"}


class MappedTable(TablePolicy):
    """made: the columns that have a default, of Python or of the database."""

    made: frozenset[str]

    def is_made(self, name: str) -> bool:
        return name in self.made


class MappedIndex(IndexPolicy):
    """of_part: what its normaliser says, which may be the application's own."""

    of_part: bool

    @property
    def partial(self) -> bool:
        return self.of_part


def table_policies(metadata: MetaData) -> dict[str, TablePolicy]:
    """Every table by its name (`schema.name` where it has a schema).

    A column of a type that a policy has no word for, such as JSON or an Enum, is left out: no text of a CSV file or
    a command line is its value. Raises: PolicyError.
    """
    return {name: _described(table) for name, table in metadata.tables.items()}


def _described(table: Table) -> TablePolicy:
    columns: dict[str, ColumnPolicy] = {}
    plan = plan_of(table)
    for column in table.columns:
        if plan is not None and column.key in plan.plaintexts:
            continue  # the sealed column stands for it
        if column.key != column.name:
            raise PolicyError(f"{table.fullname}.{column.name} has another key= than its name; leave key= out")
        word = _word(column.type)
        if word is not None:
            columns[column.name] = _column(column, word)
    # What a policy file is checked for, SQLAlchemy was: names may be longer and have other letters here.
    return MappedTable.model_construct(
        key=tuple(key.name for key in table.primary_key.columns),
        column=columns,
        made=frozenset(column.name for column in table.columns if _is_made(column)),
    )


def _is_made(column: "Column[Any]") -> bool:
    return (
        column.default is not None or column.server_default is not None or column is column.table.autoincrement_column
    )


def _word(kind: TypeEngine[Any]) -> ColumnType | None:
    try:
        return WORD_OF.get(codec_id_of(kind.stored if isinstance(kind, Declaration) else kind))
    except DefinitionError:
        return None


def _column(column: "Column[Any]", word: ColumnType) -> ColumnPolicy:
    kind = column.type
    if not isinstance(kind, Declaration) or kind.owner is None:
        return ColumnPolicy.model_construct(type=word, nullable=column.nullable)
    indexes = tuple(map(_index, kind.index)) or None
    return ColumnPolicy.model_construct(type=word, sealed=True, bind=kind.bind, index=indexes, nullable=column.nullable)


def _index(index: BlindIndex) -> MappedIndex:
    rule = index.normaliser
    word = rule.id.partition("/")[0].partition("-")[0]
    return MappedIndex.model_construct(
        normalise=NORMALISER_WORD_OF.get(word, word), name=index.name, bits=index.bits, of_part=rule.partial
    )
