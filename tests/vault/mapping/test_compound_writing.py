"""Of which parts a term is made; that each way of writing does so is in test_compound_index.py."""

from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine, bindparam

from tests.vault.mapping.ward import Patient
from vault.errors import SealedColumnError
from vault.mapping.compound_writing import CompoundWriting
from vault.mapping.sealed_column import SealedColumn
from vault.mapping.statement_plan import StatementPlan
from vault.mapping.table_plan import plan_of

PLAN = plan_of(Patient.__table__)
assert PLAN is not None
BORN = date(1980, 1, 1)


def unbound(part: SealedColumn) -> list[dict[str, Any]]:
    raise AssertionError(f"nobody needs the row of {part}")


def test_an_insert_leaves_the_unwritten_slot_out_and_an_update_empties_it(quick: Engine) -> None:
    row = {"name": "plain§", "born": BORN}
    inserting = CompoundWriting(quick.dialect, PLAN, {}, StatementPlan(), inserting=True).of_rows(
        ["name", "born"], [row], unbound
    )
    updating = CompoundWriting(quick.dialect, PLAN, {}, StatementPlan(), inserting=False).of_rows(
        ["name", "born"], [row], unbound
    )
    assert set(inserting) == {"whole_a", "rough_a"}
    assert updating == {**inserting, "whole_b": [None], "rough_b": [None]}


def test_parts_come_from_the_statement_and_from_parameters(quick: Engine) -> None:
    writing = CompoundWriting(quick.dialect, PLAN, {"name": bindparam("n")}, StatementPlan(), inserting=False)
    apart = writing.of_rows(["name", "born"], [{"n": "plain§", "born": BORN}], unbound)
    whole = CompoundWriting(quick.dialect, PLAN, {}, StatementPlan(), inserting=False)
    assert apart == whole.of_rows(["name", "born"], [{"name": "plain§", "born": BORN}], unbound)


def test_an_update_of_one_part_is_refused_unless_it_becomes_null(quick: Engine) -> None:
    writing = CompoundWriting(quick.dialect, PLAN, {}, StatementPlan(), inserting=False)
    assert writing.of_rows(["name"], [{"name": None}], unbound)["whole_a"] == [None]
    with pytest.raises(SealedColumnError, match="give born in the same UPDATE"):
        writing.of_rows(["name"], [{"name": None}, {"name": "plain§"}], unbound)
    assert writing.of_rows(["card"], [{"card": "plain§"}], unbound) == {}
