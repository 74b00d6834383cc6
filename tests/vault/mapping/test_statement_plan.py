"""One statement's plan: taken once, the same for columns that share an index, and refused where it cannot answer."""

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, StaticPool, create_engine, event, insert, select, update

from kms.key_database import writing
from kms.key_record import Purpose
from tests.flows.phases import changing_vault, turn
from tests.vault.mapping.clinic import Base, Person, Seat, Ticket
from tests.vault.mapping.conftest import new_vault
from tests.vault.phases import set_phase
from vault import attach, find_all
from vault.changeover.phase import Phase, Subject
from vault.definitions.definition_tables import field_table
from vault.errors import SealedColumnError
from vault.mapping import definition_of
from vault.mapping.statement_plan import Handed, StatementPlan, in_use, plan_in_use
from vault.terms.term import BlindIndex

P = Person.__table__
T, S = Ticket.__table__, Seat.__table__
SHARED = BlindIndex(scope="holder")


def test_a_plan_is_taken_once(tmp_path: Path) -> None:
    opened = changing_vault(tmp_path)
    ssn = opened.field(definition_of(P.c.ssn))
    plan = StatementPlan()
    before = plan.asked_terms(ssn, BlindIndex())
    for phase in (Phase.DUAL_ASK_OLD, Phase.DUAL_ASK_NEW):
        turn(opened, phase)
    assert before[0] == plan.asked_terms(ssn, BlindIndex())[0] == "a"
    assert plan.of(ssn) is plan.of(ssn) is not ssn.plan()
    assert StatementPlan().asked_terms(ssn, BlindIndex())[0] == "b"
    opened.close()


def test_columns_that_share_an_index_are_asked_in_one_slot(tmp_path: Path) -> None:
    """The index changes over after the first of them was looked at, and before the second."""
    opened = changing_vault(tmp_path)
    ticket, seat = (opened.field(definition_of(table.c.holder)) for table in (T, S))
    turn(opened, Phase.DUAL_ASK_OLD)
    plan = StatementPlan()
    slot, _ = plan.asked_terms(ticket, SHARED)
    turn(opened, Phase.DUAL_ASK_NEW)
    other, terms = plan.asked_terms(seat, SHARED)
    assert (slot, other) == ("a", "a")
    assert terms.asked("plain§") == seat.terms("plain§")["holder_bidx_a"]
    opened.close()


def _narrowed(tmp_path: Path, index: BlindIndex) -> tuple[Any, Engine]:
    """The index of ssn is, by a later generation, made as index says, and is asked so."""
    opened = new_vault(tmp_path)
    definition = definition_of(P.c.ssn)
    opened.field(definition)
    later = replace(definition, indexes=(index,), generation=1)
    with writing(opened.key_store.engine) as connection:
        row = {"keyring_id": opened.keyring.id, "table_name": "person", "column_name": "ssn", "generation": 1}
        recorded = {"definition": later.canonical_json(), "fingerprint": later.fingerprint}
        connection.execute(insert(field_table).values(row | recorded))
    opened.keyring.lifecycle.rotate(Purpose.INDEX)
    subject = Subject("person", "ssn", "bidx")
    set_phase(opened.key_store, opened.keyring, subject, Phase.NEW, generation=1)
    engine = create_engine("sqlite://", poolclass=StaticPool)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    return opened, engine


def test_a_slot_that_is_truncated_by_now_is_not_compared_with(tmp_path: Path) -> None:
    opened, engine = _narrowed(tmp_path, BlindIndex(bits=16))
    with engine.connect() as connection, pytest.raises(SealedColumnError, match=r"find_all\(\)"):
        connection.execute(select(P.c.id).where(P.c.ssn == "plain§"))
    with engine.connect() as connection:
        assert list(find_all(connection, P, by={"ssn": "plain§"})) == [], "which opens and compares"
    opened.close()


def test_an_index_that_is_only_being_made_is_not_asked(tmp_path: Path) -> None:
    opened = new_vault(tmp_path)
    ssn = opened.field(definition_of(P.c.ssn))
    set_phase(opened.key_store, opened.keyring, Subject("person", "ssn", "bidx"), Phase.DUAL_ASK_OLD, old="", new="a")
    with pytest.raises(SealedColumnError, match="cannot be asked now"):
        StatementPlan().asked_terms(ssn, BlindIndex())
    opened.close()


def test_pages_are_compared_as_the_slot_is_that_each_of_them_asks(tmp_path: Path) -> None:
    """The truncated index gets another key between two pages: none of the rows is skipped or comes twice."""
    opened = changing_vault(tmp_path)
    engine = create_engine("sqlite://", poolclass=StaticPool)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    turn(opened, Phase.DUAL_ASK_OLD)
    with engine.begin() as connection:
        connection.execute(insert(T), [{"id": n, "gate": f"plain§{n % 2}"} for n in range(40)])
        found = []
        for number, row in enumerate(find_all(connection, T, by={"gate": "plain§1"}, rows_a_page=4)):
            found.append(row["id"])
            if number == 9:
                turn(opened, Phase.DUAL_ASK_NEW)
    assert found == list(range(1, 40, 2))
    opened.close()


def test_outside_of_a_statement_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(SealedColumnError, match="execute the statement itself"):
        plan_in_use()
    before = in_use.set(StatementPlan())
    assert isinstance(plan_in_use(), StatementPlan)
    in_use.reset(before)


def test_what_sqlalchemy_keeps_of_a_statement_holds_no_plan(tmp_path: Path) -> None:
    handed = Handed(plan := StatementPlan())
    assert (handed.take(), handed.take()) == (plan, None)
    opened = new_vault(tmp_path)
    engine = create_engine("sqlite://", poolclass=StaticPool)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(P).values(id=1, ssn="plain§"))
        connection.execute(update(P).where(P.c.ssn == "plain§").values(ssn="plain§2"))
        connection.execute(select(P.c.id).where(P.c.ssn == "plain§"))
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is StatementPlan and one is not plan]
    opened.close()


@pytest.mark.parametrize(
    "by", [{"gate": "plain§1"}, {"ticket_whole": {"holder": "plain§h", "gate": "plain§1"}}], ids=repr
)
def test_a_page_is_asked_as_it_will_be_compared(tmp_path: Path, by: dict[Any, Any]) -> None:
    """The index changes over after the page's plan is taken, and before the page is."""
    opened = changing_vault(tmp_path)
    engine = create_engine("sqlite://", poolclass=StaticPool)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    turn(opened, Phase.DUAL_ASK_OLD)
    with engine.begin() as connection:
        connection.execute(insert(T), [{"id": n, "holder": "plain§h", "gate": f"plain§{n % 2}"} for n in range(6)])
        event.listen(engine, "before_execute", lambda *_: turn(opened, Phase.DUAL_ASK_NEW))
        assert [row["id"] for row in find_all(connection, T, by=by)] == [1, 3, 5]
    opened.close()
