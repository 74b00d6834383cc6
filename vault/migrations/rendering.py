"""Rendering: how autogenerate writes our operations into a migration file: names and lengths, and nothing else."""

# ruff: noqa: SLF001  # whether a batch is being written has no public name in Alembic

from typing import TYPE_CHECKING, Any

from alembic.autogenerate.render import renderers

from vault.migrations.blind_index_ops import CreateBlindIndexOp, DropBlindIndexOp
from vault.migrations.compound_index_ops import CreateCompoundIndexOp, DropCompoundIndexOp
from vault.migrations.sealed_column_ops import AddSealedColumnOp, DropSealedColumnOp
from vault.terms.term import RFC_2104_SHA_256_BITS

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from alembic.operations.ops import AlterTableOp

__all__: list[str] = []

NOT_NULL = "# NULL in the rows that are there; NOT NULL comes in a later revision, when every row has its value."


@renderers.dispatch_for(AddSealedColumnOp)
def _add_sealed_column(context: "AutogenContext", operation: AddSealedColumnOp) -> str | list[str]:
    options = {} if operation.longest_bytes is None else {"longest_bytes": operation.longest_bytes}
    call = _call(context, "add_sealed_column", operation, [operation.column_name], options)
    return [NOT_NULL, call] if operation.not_null else call


@renderers.dispatch_for(DropSealedColumnOp)
def _drop_sealed_column(context: "AutogenContext", operation: DropSealedColumnOp) -> str:
    return _call(context, "drop_sealed_column", operation, [operation.column_name], {})


@renderers.dispatch_for(CreateBlindIndexOp)
def _create_blind_index(context: "AutogenContext", operation: CreateBlindIndexOp) -> str:
    names = [operation.column_name, operation.index]
    return _call(context, "create_blind_index", operation, names, _width(operation) | _named(operation))


@renderers.dispatch_for(DropBlindIndexOp)
def _drop_blind_index(context: "AutogenContext", operation: DropBlindIndexOp) -> str:
    names = [operation.column_name, operation.index]
    return _call(context, "drop_blind_index", operation, names, _named(operation))


@renderers.dispatch_for(CreateCompoundIndexOp)
def _create_compound_index(context: "AutogenContext", operation: CreateCompoundIndexOp) -> str:
    places = [operation.index, *([list(operation.columns)] if operation.columns else [])]
    return _call(context, "create_compound_index", operation, places, _width(operation) | _named(operation))


@renderers.dispatch_for(DropCompoundIndexOp)
def _drop_compound_index(context: "AutogenContext", operation: DropCompoundIndexOp) -> str:
    return _call(context, "drop_compound_index", operation, [operation.index], _named(operation))


def _width(operation: CreateBlindIndexOp | CreateCompoundIndexOp) -> dict[str, Any]:
    bits = {} if operation.bits == RFC_2104_SHA_256_BITS else {"bits": operation.bits}
    return bits | ({"unique": True} if operation.unique else {})


def _named(
    operation: CreateBlindIndexOp | DropBlindIndexOp | CreateCompoundIndexOp | DropCompoundIndexOp,
) -> dict[str, Any]:
    name = str(operation.index_name)
    return {} if name == operation.usual_name else {"index_name": name}


def _call(
    context: "AutogenContext", name: str, operation: "AlterTableOp", places: list[Any], options: dict[str, Any]
) -> str:
    if context._has_batch:
        prefix = "batch_op."
    else:
        prefix = context.opts["alembic_module_prefix"] or ""
        places = [operation.table_name, *places]
        if operation.schema is not None:
            options["schema"] = operation.schema
    words = [repr(_plain(place)) for place in places]
    words += [f"{key}={_plain(said)!r}" for key, said in options.items()]
    return f"{prefix}{name}({', '.join(words)})"


def _plain(said: Any) -> Any:
    """SQLAlchemy's own kinds of str show more of themselves than their text."""
    if isinstance(said, list):
        return [_plain(one) for one in said]
    return str(said) if isinstance(said, str) else said
