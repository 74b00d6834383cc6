"""SQL in which the column of an index is filled in when it runs, and what of it can be seen."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    StaticPool,
    Table,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    insert,
    lambda_stmt,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from tests.flows.phases import changing_vault, index_the_other_slots, turn
from tests.vault.mapping.clinic import Base, Person, Ticket
from tests.vault.mapping.driver_spy import DriverSpy
from vault import attach, equal_together
from vault.changeover.phase import Phase
from vault.errors import SealedColumnError
from vault.mapping.slotted_text import shown
from vault.opened import OpenedVault

P: Table = Person.__table__  # type: ignore[assignment]
A = "plain§a"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenedVault]:
    opened = changing_vault(tmp_path_factory.mktemp("keys"))
    yield opened
    opened.close()


@pytest.fixture
def watched(vault: OpenedVault) -> Iterator[tuple[Engine, DriverSpy]]:
    spy = DriverSpy()
    engine = spy.engine("sqlite://", poolclass=StaticPool)
    attach(engine, vault)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        index_the_other_slots(connection)
    turn(vault, Phase.OLD)
    spy.sent.clear()
    yield engine, spy
    assert not spy.saw_plaintext()
    engine.dispose()


def _slots(sql: str) -> list[str]:
    return re.findall(r"_(?:bidx|whole)_([ab])\b", sql)


HELD = select(P.c.id).where(P.c.ssn == bindparam("x"))
STATEMENTS: dict[str, tuple[Any, Any]] = {
    "built anew": (lambda: select(P.c.id).where(P.c.ssn == A), {}),
    "held": (lambda: HELD, {"x": A}),
    "lambda": (lambda: lambda_stmt(lambda: select(P.c.id).where(P.c.ssn == A)), {}),
    "expanding": (lambda: select(P.c.id).where(P.c.ssn.in_([A, "plain§b"])), {}),
    "a term column": (lambda: select(func.count()).select_from(P).group_by(P.c.ssn_bidx_a), {}),
    "several columns": (
        lambda: select(Ticket.id).where(equal_together(Ticket, "ticket_whole", {"holder": A, "gate": A})),
        {},
    ),
    "delete": (lambda: delete(P).where(P.c.ssn == A), {}),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_one_compiled_statement_asks_the_slot_of_the_moment(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault, name: str
) -> None:
    (engine, spy), (build, parameters) = watched, STATEMENTS[name]
    asked, kept = [], []
    for phase in (*Phase, *reversed(Phase)):
        turn(vault, phase)
        spy.sent.clear()
        with engine.connect() as connection:
            connection.execute(build(), parameters)
        ((sql, _),) = spy.sent
        asked += _slots(sql)
        kept.append(len(engine._compiled_cache or ()))
    assert asked == list("aabbbbaa")
    assert len(set(kept)) == 1, "the slot is no part of what compiled statements are found by"


def test_an_insert_leaves_the_unwritten_slot_out_and_an_update_empties_it(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault
) -> None:
    engine, spy = watched
    for key, (phase, inserted, kept) in enumerate(
        [
            (Phase.OLD, "a", "a"),
            (Phase.DUAL_ASK_OLD, "ab", "ab"),
            (Phase.DUAL_ASK_NEW, "ab", "ab"),
            (Phase.NEW, "b", "b"),
        ]
    ):
        turn(vault, phase)
        spy.sent.clear()
        with engine.begin() as connection:
            connection.execute(insert(P), [{"id": key, "ssn": A}, {"id": 10 + key, "ssn": A}])
            connection.execute(update(P).where(P.c.id == key).values(ssn=f"plain§{key}"))
            stored = connection.exec_driver_sql(f"SELECT ssn_bidx_a, ssn_bidx_b FROM person WHERE id = {key}").one()
        assert "".join(_slots(spy.sent[0][0])) == inserted
        assert _slots(spy.sent[1][0]) == ["a", "b"]
        assert "".join(slot for slot, term in zip("ab", stored, strict=True) if term is not None) == kept


def test_a_conflict_is_on_the_slot_that_is_asked_and_sets_each_slot_to_its_own(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault
) -> None:
    engine, spy = watched
    for phase in (Phase.DUAL_ASK_OLD, Phase.DUAL_ASK_NEW):
        turn(vault, phase)
        spy.sent.clear()
        new = sqlite.insert(P).values(id=1, ssn=A, email="plain§e")
        with engine.begin() as connection:
            connection.execute(new.on_conflict_do_update(index_elements=[P.c.email], set_={"ssn": new.excluded.ssn}))
        ((sql, _),) = spy.sent
        slot = "a" if phase is Phase.DUAL_ASK_OLD else "b"
        assert f"ON CONFLICT (email_bidx_{slot})" in sql
        assert "ssn_bidx_a = excluded.ssn_bidx_a, ssn_bidx_b = excluded.ssn_bidx_b" in sql


@pytest.mark.parametrize("phase", Phase)
def test_what_is_compiled_to_be_seen_has_the_column_of_slot_a(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault, phase: Phase
) -> None:
    turn(vault, phase)
    statement = select(P.c.id).where(P.c.ssn == A, P.c.email.in_([A]))
    for dialect in (None, watched[0].dialect, postgresql.dialect(), mysql.dialect()):  # type: ignore[no-untyped-call]
        for literal_binds in (False, True):
            text = str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": literal_binds}))
            assert "person.ssn_bidx_a = " in text
            assert "person.email_bidx_a IN " in text
            assert not set("{}~") & set(text)
    assert "person.ssn_bidx_a = :param_1" in str(statement)


def test_an_error_before_the_slot_is_known_shows_no_token(watched: tuple[Engine, DriverSpy]) -> None:
    with watched[0].connect() as connection, pytest.raises(SQLAlchemyError) as told:
        connection.execute(HELD)
    assert "person.ssn_bidx_a = ?" in str(told.value)
    assert shown("x {ssn_bidx_a~00} y") == "x {ssn_bidx_a~00} y", "only our own"


def test_text_that_looks_like_a_token_stays_as_it_is(watched: tuple[Engine, DriverSpy], vault: OpenedVault) -> None:
    turn(vault, Phase.NEW)
    alike = "{ssn_bidx_a}{ssn_bidx_a~0}{ssn_bidx_a~000000000}"
    with watched[0].begin() as connection:
        connection.execute(insert(P).values(id=1, ssn=A))
        found = select(literal(alike, literal_execute=True)).where(P.c.ssn == A)
        assert connection.scalars(found).all() == [alike]


def test_a_token_that_nobody_filled_in_is_refused_before_it_is_sent(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault
) -> None:
    engine, spy = watched
    kind = engine.dialect.execution_ctx_cls
    engine.dialect.execution_ctx_cls = kind.__mro__[2]
    spy.sent.clear()
    try:
        for statement in (
            select(func.count()).select_from(P).group_by(P.c.ssn_bidx_a),
            select(P.c.id).where(P.c.ssn == A),
        ):
            with engine.connect() as connection, pytest.raises(SealedColumnError):
                connection.execute(statement)
    finally:
        engine.dialect.execution_ctx_cls = kind
    assert not spy.sent


def test_no_database_takes_a_token(watched: tuple[Engine, DriverSpy]) -> None:
    """What would be sent past every hook."""
    texts: list[str] = []

    def see(_connection: Any, _cursor: Any, _sql: str, _parameters: Any, context: Any, _many: bool) -> None:
        texts.append(context.compiled.string)

    engine = watched[0]
    event.listen(engine, "before_cursor_execute", see)
    with engine.connect() as connection:
        connection.execute(select(P.c.id).order_by(P.c.ssn_bidx_a))
    event.remove(engine, "before_cursor_execute", see)
    plain = create_engine("sqlite://")
    Base.metadata.create_all(plain)
    with plain.connect() as connection, pytest.raises(SQLAlchemyError, match="unrecognized token"):
        connection.exec_driver_sql(texts[0])
    plain.dispose()


def test_rows_inserted_in_several_batches_are_of_one_plan(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault
) -> None:
    """The index changes over between two batches of one statement: the second is as the first."""
    engine, spy = watched
    turn(vault, Phase.DUAL_ASK_OLD)

    def change(*_call: Any) -> None:
        turn(vault, Phase.DUAL_ASK_NEW)

    new = sqlite.insert(P)
    rows = [{"id": key, "ssn": A, "email": f"plain§{key}"} for key in range(6)]
    statement = new.on_conflict_do_update(index_elements=[P.c.email], set_={"ssn": new.excluded.ssn})
    event.listen(engine, "after_cursor_execute", change)
    spy.sent.clear()
    with engine.begin() as connection:
        found = connection.execution_options(insertmanyvalues_page_size=2).execute(
            statement.returning(P.c.id, P.c.ssn_bidx_a), rows
        )
        assert len(found.all()) == 6
    event.remove(engine, "after_cursor_execute", change)
    assert [re.findall(r"CONFLICT \(email_bidx_(.)\)", sql) for sql, _ in spy.sent] == [["a"]] * 3


def test_a_statement_within_anothers_events_has_a_plan_of_its_own(
    watched: tuple[Engine, DriverSpy], vault: OpenedVault
) -> None:
    engine, spy = watched
    inner: list[str] = []

    def nested(connection: Any, _clause: Any, _many: Any, _one: Any, _options: Any) -> None:
        if not inner:
            inner.append("once")
            turn(vault, Phase.DUAL_ASK_NEW)
            connection.execute(select(P.c.id).where(P.c.ssn == A))
            connection.execute(update(P).where(P.c.ssn == A).values(ssn="plain§n"))

    turn(vault, Phase.DUAL_ASK_OLD)
    event.listen(engine, "before_execute", nested)
    spy.sent.clear()
    new = sqlite.insert(P).values(id=1, ssn=A, email="plain§e")
    with engine.begin() as connection:  # sealed by the plan of phase 2 before the event changes it
        connection.execute(new.on_conflict_do_nothing(index_elements=[P.c.email]))
    event.remove(engine, "before_execute", nested)
    assert [_slots(sql)[-1] for sql, _ in spy.sent] == ["b", "b", "a"]


def test_a_default_that_asks_is_refused_before_it_is_sent(watched: tuple[Engine, DriverSpy]) -> None:
    """It would be sent in the text that is shown."""
    engine, spy = watched
    asking = select(func.count()).select_from(P).where(P.c.ssn == A).scalar_subquery()
    key = Column("id", Integer, primary_key=True, default=asking)
    table = Table("asks", MetaData(), key, Column("x", Integer), implicit_returning=False)
    table.create(engine)
    spy.sent.clear()
    with engine.connect() as connection, pytest.raises(SealedColumnError):
        connection.execute(insert(table).values(x=1))
    assert not spy.sent


def test_an_engine_without_a_vault_is_told_so_first(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'plain.db'}")
    Base.metadata.create_all(engine)
    with engine.connect() as connection, pytest.raises(SealedColumnError, match="attach"):
        connection.execute(select(func.count()).select_from(P).group_by(P.c.ssn_bidx_a))
    engine.dispose()
