"""An index changes over from one slot to the other and back, while threads ask and write as fast as they can."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, create_engine, event, insert, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from tests.flows.phases import changing_vault, index_the_other_slots, turn
from tests.servers.databases import DATABASES, need_database
from tests.sizes import sized
from tests.vault.mapping.clinic import Base, Person
from vault import attach, find_all
from vault.changeover.phase import Phase
from vault.definitions.index_slot import Slot
from vault.mapping import definition_of
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

P: Table = Person.__table__  # type: ignore[assignment]
STORED = raw_table(P)
COLUMNS = [P.c.ssn, P.c.email]
THREADS = sized(3, 8)
OF_A_THREAD = 1_000_000


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Engine, OpenedVault]]:
    need_database(request.node, request.param)
    url = (
        f"sqlite:///{tmp_path / 'clinic.db'}?timeout=60"
        if request.param == "sqlite"
        else request.getfixturevalue(f"{request.param}_url")
    )
    opened = changing_vault(tmp_path)
    engine = create_engine(url, pool_size=THREADS + 2)
    if request.param == "sqlite":
        event.listen(engine, "connect", _write_ahead)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        index_the_other_slots(connection)
    yield engine, opened
    engine.dispose()
    opened.close()


def _write_ahead(connection: Any, _record: object) -> None:
    """Readers wait for no writer, and nobody for the disk."""
    connection.execute("PRAGMA journal_mode = wal").close()
    connection.execute("PRAGMA synchronous = off").close()


class Worker:
    """One thread's people: it knows who has what, and that all of them are found. Nobody else writes its rows."""

    def __init__(self, engine: Engine, number: int) -> None:
        self.engine = engine
        self.number = number
        self.turns = 0
        self.people: dict[int, str] = {}

    def work(self, until: threading.Event) -> int:
        while not until.is_set():
            self.turn()
            self.turns += 1
        return self.turns

    def turn(self) -> None:
        key = self.number * OF_A_THREAD + self.turns + 1
        value, email = f"plain§{self.number}-{self.turns % 7}", f"plain§{key}@x"
        with Session(self.engine) as session:
            if self.turns % 3 == 0:
                session.add(Person(id=key, ssn=value, email=email))
            elif self.turns % 3 == 1:
                session.execute(insert(Person), [{"id": key, "ssn": value, "email": email}])
            else:
                session.execute(P.insert().values([{"id": key, "ssn": value, "email": email}]))
            session.commit()
            self.people[key] = value
        self.again(key, email)
        self.change(key, email)
        self.ask(email)

    def again(self, key: int, email: str) -> None:
        """Nobody gets an address that somebody has."""
        with self.engine.connect() as connection, pytest.raises(IntegrityError):
            connection.execute(
                insert(P).values(id=key + OF_A_THREAD // 2, email=email.upper().replace("PLAIN", "plain"))
            )

    def change(self, key: int, email: str) -> None:
        value = f"plain§{self.number}-{(self.turns + 3) % 7}"
        with self.engine.begin() as connection:
            if self.turns % 2:
                connection.execute(self.upsert(key + OF_A_THREAD // 2, value, email))
            else:
                changed = connection.execute(
                    update(P).where(P.c.email == email, P.c.ssn.is_not(None)).values(ssn=value)
                )
                assert changed.rowcount == 1
        self.people[key] = value

    def upsert(self, key: int, value: str, email: str) -> Any:
        if self.engine.dialect.name == "mysql":
            new = mysql.insert(P).values(id=key, ssn=value, email=email)
            return new.on_duplicate_key_update(ssn=new.inserted.ssn)
        module = sqlite if self.engine.dialect.name == "sqlite" else postgresql
        made = module.insert(P).values(id=key, ssn=value, email=email)
        return made.on_conflict_do_update(index_elements=[P.c.email], set_={"ssn": made.excluded.ssn})

    def ask(self, email: str) -> None:
        wanted = f"plain§{self.number}-{self.turns % 7}"
        having = sorted(key for key, value in self.people.items() if value == wanted)
        other = aliased(Person)
        with Session(self.engine) as session:
            assert len(session.scalars(select(Person.id).where(Person.email.in_([email, "plain§nobody"]))).all()) == 1
            assert sorted(session.scalars(select(Person.id).where(Person.ssn == wanted))) == having
            pairs = select(Person.id).join(other, Person.ssn == other.ssn).where(other.email == email)
            assert len(session.scalars(pairs).all()) == sum(
                value == self.people[self.number * OF_A_THREAD + self.turns + 1] for value in self.people.values()
            )
            pages = find_all(session, P, by={"ssn": wanted}, rows_a_page=3)
            assert [row["id"] for row in pages] == having


def _fill_slot(engine: Engine, opened: OpenedVault, slot: Slot) -> None:
    """What reindex does: rows from before get their terms, unless they change meanwhile."""
    with engine.connect() as connection:
        rows = connection.execute(select(STORED)).mappings().all()
    for column in COLUMNS:
        field = opened.field(definition_of(column))
        terms = field.plan().slot("bidx", slot)
        assert terms is not None
        its, stored = STORED.c[f"{column.name}_bidx_{slot}"], STORED.c[column.name]
        for row in rows:
            if row[its.name] is None and row[column.name] is not None:
                term = terms.term(field.open(row[column.name]))
                with engine.begin() as connection:
                    same = (STORED.c.id == row["id"], stored == row[column.name], its.is_(None))
                    connection.execute(update(STORED).where(*same).values({its.name: term}))
    with engine.connect() as connection:
        for column in COLUMNS:
            its, stored = STORED.c[f"{column.name}_bidx_{slot}"], STORED.c[column.name]
            assert not connection.execute(select(STORED.c.id).where(stored.is_not(None), its.is_(None))).all()


def _empty_slot(engine: Engine, slot: Slot) -> None:
    with engine.begin() as connection:
        connection.execute(update(STORED).values({f"{column.name}_bidx_{slot}": None for column in COLUMNS}))


def _wait_out_the_lease(workers: list[Worker], running: "list[Any]") -> None:
    """Until no statement is under way that was begun before."""
    seen = [worker.turns for worker in workers]
    while any(worker.turns < was + 2 for worker, was in zip(workers, seen, strict=True)):
        assert not any(one.done() for one in running), [one.exception() for one in running if one.done()]
        time.sleep(0.005)


def test_nothing_is_missed_or_found_twice_and_what_is_unique_stays_so(database: tuple[Engine, OpenedVault]) -> None:
    engine, opened = database
    stop = threading.Event()
    workers = [Worker(engine, number) for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(worker.work, stop) for worker in workers]
        try:
            for there in range(sized(2, 20)):
                slots: tuple[Slot, Slot] = ("a", "b") if there % 2 == 0 else ("b", "a")
                old, new = slots
                for phase in Phase:
                    if phase is Phase.DUAL_ASK_NEW:
                        _fill_slot(engine, opened, new)
                    turn(opened, phase, old)
                    _wait_out_the_lease(workers, running)
                _empty_slot(engine, old)
        finally:
            stop.set()
        assert sum(one.result() for one in running) > THREADS * 10
    with engine.connect() as connection:
        rows = connection.execute(select(P.c.id, P.c.ssn, P.c.email)).all()
    assert {row.id: row.ssn for row in rows} == {key: value for one in workers for key, value in one.people.items()}
    assert len({row.email for row in rows}) == len(rows)
