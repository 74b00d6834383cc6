"""The execution context of an engine with a vault: its dialect's own, which keeps one plan a statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, create_engine, event, insert, select
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Person, Visit
from vault import attach, find
from vault.mapping.pinned_execution import PinnedExecution, keep_to_one_plan
from vault.mapping.statement_plan import StatementPlan
from vault.opened import OpenedVault

P: Table = Person.__table__  # type: ignore[assignment]


@contextmanager
def plans(engine: Engine) -> Iterator[list[StatementPlan | None]]:
    """Those of the statements that are executed, in order."""
    seen: list[StatementPlan | None] = []

    def see(_connection: Any, _cursor: Any, _sql: str, _parameters: Any, context: Any, _many: bool) -> None:
        seen.append(context.noisevault_plan)

    event.listen(engine, "before_cursor_execute", see)
    yield seen
    event.remove(engine, "before_cursor_execute", see)


def test_only_what_asks_has_a_plan_and_each_has_its_own(quick: Engine) -> None:
    with Session(quick) as session, plans(quick) as seen:
        session.execute(select(P.c.id))
        session.execute(insert(P).values(id=1, ssn="plain§"))
        assert seen == [None, None]
        for _ in range(2):
            session.execute(select(P.c.id).where(P.c.ssn == "plain§"))
        assert len({id(one) for one in seen[2:]}) == 2
        assert None not in seen[2:]


def test_a_page_of_find_has_the_plan_that_its_rows_are_compared_by(quick: Engine) -> None:
    with Session(quick) as session:
        session.add(Person(id=1, ssn="plain§", visits=[Visit(id=1)]))
        session.flush()
        session.expire_all()
        with plans(quick) as seen:
            found = find(session, Person, by={Person.ssn: "plain§"})
            assert found is not None
            assert [visit.id for visit in found.visits] == [1]
    assert [one is not None for one in seen] == [True, False], "what is loaded with it asks nothing"


def test_the_dialects_own_context_is_kept_and_taken_once(opened: OpenedVault, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    usual = engine.dialect.execution_ctx_cls
    attach(engine, opened)
    pinned = engine.dialect.execution_ctx_cls
    assert issubclass(pinned, usual)
    assert pinned is not usual
    keep_to_one_plan(engine.dialect)
    assert engine.dialect.execution_ctx_cls is pinned
    assert not issubclass(create_engine("sqlite://").dialect.execution_ctx_cls, PinnedExecution)
    with pytest.raises(AttributeError):
        _ = usual.noisevault_plan  # type: ignore[attr-defined]
    engine.dispose()
