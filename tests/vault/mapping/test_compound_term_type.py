from datetime import date

import pytest
from sqlalchemy import Engine, bindparam, select

from tests.vault.mapping.ward import Base, Patient
from vault.errors import DefinitionError, SealedColumnError
from vault.mapping.compound_term_type import asked_compound_type, equal_together
from vault.mapping.table_plan import plan_of

ASKED = {"name": "plain§", "born": date(1980, 1, 1)}


def test_an_index_that_is_not_there_is_refused() -> None:
    with pytest.raises(DefinitionError, match="no index 'nobody' over several columns of ward_patient"):
        equal_together(Patient, "nobody", ASKED)


def test_no_value_is_in_a_statement(quick: Engine) -> None:
    condition = equal_together(Patient, "whole", ASKED)
    compiled = condition.compile(dialect=quick.dialect, compile_kwargs={"literal_binds": True})
    assert "§" not in str(condition) + str(compiled) + repr(condition.compile().params)


def test_one_type_an_index_and_only_asked_values_bind(quick: Engine) -> None:
    Base.metadata.create_all(quick)
    plan = plan_of(Patient.__table__)
    assert plan is not None
    whole, rough = plan.compounds
    assert asked_compound_type(whole) is asked_compound_type(whole) is not asked_compound_type(rough)
    assert repr(asked_compound_type(whole)) == "AskedCompound(ward_patient.whole)"
    statement = select(Patient.id).where(whole.term_column("a") == bindparam("x", type_=asked_compound_type(whole)))
    with quick.connect() as connection, pytest.raises(SealedColumnError, match=r"equal_together\(\) or find_all\(\)"):
        connection.execute(statement, {"x": ("plain§", date(1980, 1, 1))})
