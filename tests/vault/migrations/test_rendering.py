"""Operations are written with what differs from their defaults, and nothing else."""

from types import SimpleNamespace
from typing import Any

import pytest
from alembic.autogenerate.render import renderers

from vault.migrations.blind_index_ops import CreateBlindIndexOp
from vault.migrations.compound_index_ops import CreateCompoundIndexOp
from vault.migrations.sealed_column_ops import AddSealedColumnOp

CASES = [
    (AddSealedColumnOp("patient", "mail"), "add_sealed_column('patient', 'mail')"),
    (AddSealedColumnOp("patient", "mail").reverse(), "drop_sealed_column('patient', 'mail')"),
    (
        AddSealedColumnOp("patient", "it's", longest_bytes=98, schema="ward"),
        """add_sealed_column('patient', "it's", longest_bytes=98, schema='ward')""",
    ),
    (CreateBlindIndexOp("patient", "mail"), "create_blind_index('patient', 'mail', 'bidx')"),
    (
        CreateBlindIndexOp("patient", "mail", "half", bits=64, unique=True, index_name="i", schema="ward"),
        "create_blind_index('patient', 'mail', 'half', bits=64, unique=True, index_name='i', schema='ward')",
    ),
    (
        CreateBlindIndexOp("patient", "mail", "half", bits=64, unique=True, schema="ward").reverse(),
        "drop_blind_index('patient', 'mail', 'half', schema='ward')",
    ),
    (
        CreateCompoundIndexOp("patient", "x", ["a", "it's"], bits=20, unique=True, index_name="i", schema="ward"),
        """create_compound_index('patient', 'x', ['a', "it's"], bits=20, unique=True, index_name='i', schema='ward')""",
    ),
    (CreateCompoundIndexOp("patient", "whole"), "create_compound_index('patient', 'whole')"),
    (
        CreateCompoundIndexOp("patient", "whole", ["a", "b"], schema="ward").reverse(),
        "drop_compound_index('patient', 'whole', schema='ward')",
    ),
]


def rendered(operation: Any, *, batch: bool = False) -> Any:
    context = SimpleNamespace(_has_batch=batch, opts={"alembic_module_prefix": "op."})
    return renderers.dispatch(operation)(context, operation)


@pytest.mark.parametrize(("operation", "wanted"), CASES, ids=[wanted for _, wanted in CASES])
def test_an_operation_is_written_as_one_call(operation: Any, wanted: str) -> None:
    assert rendered(operation) == f"op.{wanted}"


def test_in_a_batch_the_table_is_the_batchs() -> None:
    operation = CreateBlindIndexOp("patient", "mail", bits=64, schema="ward")
    assert rendered(operation, batch=True) == "batch_op.create_blind_index('mail', 'bidx', bits=64)"


def test_a_model_that_forbids_null_is_told_of() -> None:
    operation = AddSealedColumnOp("patient", "mail")
    operation.not_null = True
    comment, call = rendered(operation)
    assert comment.startswith("# NULL in the rows that are there")
    assert call == "op.add_sealed_column('patient', 'mail')"
