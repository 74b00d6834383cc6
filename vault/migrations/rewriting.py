"""Rewriting: autogenerate's operations on sealed and term columns, told as what they are together."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from alembic.operations.ops import (
    AddColumnOp,
    CreateIndexOp,
    CreateTableOp,
    DropColumnOp,
    DropIndexOp,
    DropTableOp,
    MigrateOperation,
    ModifyTableOps,
    UpgradeOps,
)
from alembic.util import PriorityDispatchResult
from sqlalchemy import Column, MetaData, Table
from sqlalchemy.sql.elements import conv
from sqlalchemy.types import _Binary

from vault.definitions.index_definition import compound_term_columns
from vault.definitions.index_slot import SLOTS, term_column
from vault.mapping.compound_index import CompoundColumn, compounds_of
from vault.mapping.definitions import sealed_columns
from vault.mapping.sealed_type import Sealed
from vault.migrations.blind_index_ops import CreateBlindIndexOp, DropBlindIndexOp
from vault.migrations.compound_index_ops import CreateCompoundIndexOp, DropCompoundIndexOp
from vault.migrations.sealed_column_ops import AddSealedColumnOp, DropSealedColumnOp
from vault.migrations.slot_indexes import indexed_columns, without_changeovers
from vault.migrations.stored_columns import as_stored, bits_of, longest_of
from vault.policy.name import RESERVED_PREFIX

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext

__all__ = ["rewrite"]


def rewrite(context: "AutogenContext", upgrade: UpgradeOps) -> PriorityDispatchResult:
    """The last step of the comparison, on what the others found; the downgrade is made of it afterwards."""
    upgrade.ops = [operation for operation in upgrade.ops if not _is_of_the_vault(context, operation)]
    for operation in upgrade.ops:
        if isinstance(operation, CreateTableOp):
            operation.columns = [as_stored(part) if isinstance(part, Column) else part for part in operation.columns]
        elif isinstance(operation, ModifyTableOps):
            table = _declared(context, operation)
            sealed = {} if table is None else {column.name: column for column in sealed_columns(table)}
            compounds = () if table is None else compounds_of(table)
            kept = without_changeovers(context, operation, table)
            operation.ops = list(_created(_dropped(kept, sealed), sealed, compounds))
    upgrade.ops = [one for one in upgrade.ops if not isinstance(one, ModifyTableOps) or one.ops]
    return PriorityDispatchResult.CONTINUE


def _is_of_the_vault(context: "AutogenContext", operation: MigrateOperation) -> bool:
    """Whether it would drop a table of keys, definitions or budgets: no model declares them, all depends on them."""
    if not isinstance(operation, DropTableOp | ModifyTableOps):
        return False
    name = operation.table_name
    return name.startswith(RESERVED_PREFIX) and all(name != table.name for table in _tables(context))


def _tables(context: "AutogenContext") -> "Iterator[Table]":
    of_models = context.metadata
    for metadata in [of_models] if isinstance(of_models, MetaData) else of_models or []:
        yield from metadata.tables.values()


def _declared(context: "AutogenContext", operation: ModifyTableOps) -> Table | None:
    """The model's table. Alembic leaves the default schema unnamed, the model may name it."""
    default = None if context.dialect is None else context.dialect.default_schema_name
    place = (operation.schema or default, operation.table_name)
    for table in _tables(context):
        if (table.schema or default, table.name) == place:
            return table
    return None


def _created(
    operations: "Iterable[MigrateOperation]", sealed: "dict[str, Column[Any]]", compounds: Iterable[CompoundColumn]
) -> "Iterator[MigrateOperation]":
    """Added columns and indexes: of a sealed column one operation, of the whole of an index another."""
    left = list(operations)
    added = {one.column.name for one in left if isinstance(one, AddColumnOp)}
    indexed = {tuple(indexed_columns(one)): one for one in left if isinstance(one, CreateIndexOp)}
    made: dict[str, CreateBlindIndexOp | CreateCompoundIndexOp | None] = {}
    used: list[CreateIndexOp] = []
    for column in sealed.values():
        for index in column.type.index:  # type: ignore[attr-defined]
            first, second = (term_column(column.name, index.name, slot) for slot in SLOTS)
            at = indexed.get((first,))
            if at is not None and {first, second} <= added:
                made[first], made[second] = _blind_index(at, column.name, index.name, index.bits), None
                used.append(at)
    for compound in compounds:
        first, second = compound_term_columns(compound.declared.name)
        at = indexed.get((first,))
        if at is not None and {first, second} <= added:
            made[first], made[second] = _compound_index(at, compound), None
            used.append(at)
    for one in left:
        match one:
            case AddColumnOp(column=Column(type=Sealed() as kind) as column):
                whole = AddSealedColumnOp(one.table_name, column.name, longest_bytes=kind.most_bytes, schema=one.schema)
                whole.not_null = not column.nullable
                yield whole
            case AddColumnOp(column=Column(name=name)) if name in made:
                index_op = made[name]
                if index_op is not None:
                    yield index_op
            case AddColumnOp():
                one.column = as_stored(one.column)
                yield one
            case CreateIndexOp() if one in used:
                pass
            case _:
                yield one


def _dropped(operations: "list[MigrateOperation]", sealed: "dict[str, Column[Any]]") -> "Iterator[MigrateOperation]":
    """Dropped ones, as far as their names and types tell: the model does not know them any more."""
    dropped = {
        one.column_name: one for one in operations if isinstance(one, DropColumnOp) and _is_binary(one.to_column())
    }
    owners = sorted([*sealed, *dropped], key=len, reverse=True)
    made: dict[int, DropBlindIndexOp | DropCompoundIndexOp | None] = {}
    gone: set[str] = set()
    were_sealed: set[str] = set()
    of_first = [one for one in operations if indexed_columns(one) and indexed_columns(one)[0].endswith(f"_{SLOTS[0]}")]
    for one in [*of_first, *(one for one in operations if one not in of_first)]:
        if not isinstance(one, DropIndexOp) or len(indexed_columns(one)) != 1:
            continue
        (indexed,) = indexed_columns(one)
        for owner in owners:
            index = indexed.removeprefix(f"{owner}_")[: -len("_a")]
            pair = {term_column(owner, index, slot) for slot in SLOTS}
            if index and indexed in pair and pair <= dropped.keys():
                bits = bits_of(dropped[indexed].to_column().type)
                whole = _blind_index(one, owner, index, bits)
                if not indexed.endswith(f"_{SLOTS[0]}"):  # made by a changeover; the revision back has the usual one
                    whole.index_name = conv(whole.usual_name)
                # While both slots have one, one operation drops both.
                made[id(one)] = None if pair <= gone else DropBlindIndexOp.of(whole)
                gone |= pair
                were_sealed.add(owner)
                break
    if len(were_sealed | sealed.keys()) > 1:  # else there was nothing to be an index over
        others = [one for one in operations if isinstance(one, DropIndexOp) and id(one) not in made]
        compounds = {id(one): _dropped_compound(one, dropped) for one in others}
        made |= {at: operation for at, operation in compounds.items() if operation is not None}
        gone |= {name for one in made.values() if isinstance(one, DropCompoundIndexOp) for name in one.term_columns}
    for one in operations:
        if id(one) in made:
            whole_index = made[id(one)]
            if whole_index is not None:
                yield whole_index
        elif not isinstance(one, DropColumnOp):
            yield one
        elif one.column_name in were_sealed:
            yield DropSealedColumnOp(
                one.table_name, one.column_name, longest_bytes=longest_of(one.to_column().type), schema=one.schema
            )
        elif one.column_name not in gone:
            yield one


def _dropped_compound(at: DropIndexOp, dropped: dict[str, DropColumnOp]) -> DropCompoundIndexOp | None:
    """An index of the database and its column, with the other slot's, as what looks like an index over columns."""
    asked = indexed_columns(at)[-1]
    of_database = at.to_index()
    operation = DropCompoundIndexOp(
        str(at.table_name),
        asked.removesuffix(f"_{SLOTS[0]}"),
        unique=bool(of_database.unique),
        index_name=of_database.name,
        schema=at.schema,
    )
    if indexed_columns(at) != [operation.asked_column] or not set(operation.term_columns) <= dropped.keys():
        return None
    operation.bits = bits_of(dropped[asked].to_column().type)
    return operation


def _compound_index(at: CreateIndexOp, compound: CompoundColumn) -> CreateCompoundIndexOp:
    of_database = at.to_index()
    return CreateCompoundIndexOp(
        str(at.table_name),
        compound.declared.name,
        [part.column.name for part in compound.parts],
        bits=compound.declared.bits,
        unique=bool(of_database.unique),
        index_name=of_database.name,
        schema=at.schema,
    )


def _blind_index(at: CreateIndexOp | DropIndexOp, column: str, index: str, bits: int) -> CreateBlindIndexOp:
    of_database = at.to_index()
    return CreateBlindIndexOp(
        str(at.table_name),
        column,
        index,
        bits=bits,
        unique=bool(of_database.unique),
        index_name=of_database.name,
        schema=at.schema,
    )


def _is_binary(column: "Column[Any]") -> bool:
    return isinstance(column.type, _Binary)
