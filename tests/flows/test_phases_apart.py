"""Two processes, one of which has not heard yet of a changeover's last step: whoever writes, both find every row."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, Table, create_engine, delete, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from kms import Keyring, open_provider
from tests.flows.phases import changing_vault, index_the_other_slots, turn_unheard
from tests.sizes import sized
from tests.vault.mapping.clinic import Base, Person
from vault import attach, find_all
from vault.changeover.phase import Phase
from vault.definitions.index_slot import SLOTS, Slot
from vault.mapping import definition_of
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

P: Table = Person.__table__  # type: ignore[assignment]
STORED = raw_table(P)
VALUES = ["plain§a", "plain§b", "plain§c", None]


@dataclass
class Process:
    opened: OpenedVault
    engine: Engine
    phase: Phase = Phase.OLD


@dataclass
class Pair:
    """Both processes on one database; old: the slot that is left."""

    first: Process
    second: Process
    old: Slot = "a"
    now: Phase = Phase.OLD

    @property
    def new(self) -> Slot:
        return "b" if self.old == "a" else "a"

    def begin(self, phase: Phase) -> None:
        with self.first.engine.begin() as connection:
            connection.execute(delete(P))
        self._both_in(phase, "a")

    def step(self, leader: Process, back: bool) -> None:
        """The next phase or the one before, of which leader hears at once; who has not heard of the last does so."""
        late = [process for process in (self.first, self.second) if process.phase is not self.now]
        if late:
            self._hear(late[0])
            return
        if self.now is Phase.NEW and not back:  # done; then the other way
            self._empty(self.old)
            self._both_in(Phase.OLD, self.new)
            return
        if back and self.now is Phase.OLD:
            return
        ahead = Phase(self.now + (-1 if back else 1))
        if {self.now, ahead} == {Phase.DUAL_ASK_OLD, Phase.DUAL_ASK_NEW}:
            self._fill(self.old if back else self.new)
        self._to(ahead)
        self._hear(leader)

    def _both_in(self, phase: Phase, old: Slot) -> None:
        self.old = old
        self._to(phase)
        for process in (self.first, self.second):
            self._hear(process)

    def _to(self, phase: Phase) -> None:
        turn_unheard(self.first.opened, phase, self.old)
        self.now = phase

    def _hear(self, process: Process) -> None:
        process.opened.keyring.beside.end()
        process.opened.field(definition_of(P.c.ssn)).plan()
        process.phase = self.now

    def _fill(self, slot: Slot) -> None:
        with self.first.engine.begin() as connection:
            for column in (P.c.ssn, P.c.email):
                field, its = self.first.opened.field(definition_of(column)), STORED.c[f"{column.name}_bidx_{slot}"]
                terms = field.plan().slot("bidx", slot)
                assert terms is not None
                for row in connection.execute(select(STORED)).mappings().all():
                    value = field.open(row[column.name])
                    if value is not None and row[its.name] is None:
                        same = STORED.c.id == row["id"]
                        connection.execute(update(STORED).where(same).values({its.name: terms.term(value)}))

    def _empty(self, slot: Slot) -> None:
        with self.first.engine.begin() as connection:
            connection.execute(update(STORED).values({f"ssn_bidx_{slot}": None, f"email_bidx_{slot}": None}))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("two")
    processes = []
    for number in range(2):
        if number == 0:
            opened = changing_vault(folder)
        else:
            store = processes[0].opened.key_store
            opened = OpenedVault(Keyring.open(store, open_provider(f"local:{folder / 'kek'}"), "main"), store)
        engine = create_engine(f"sqlite:///{folder / 'clinic.db'}")
        attach(engine, opened)
        processes.append(Process(opened, engine))
    Base.metadata.create_all(processes[0].engine)
    with processes[0].engine.begin() as connection:
        index_the_other_slots(connection)
    yield Pair(*processes)
    for process in processes:
        process.engine.dispose()
        process.opened.close()


keys, values = st.integers(1, 4), st.sampled_from(VALUES)
OPERATIONS = st.one_of(
    st.tuples(st.just("step"), st.booleans(), st.sampled_from([False, False, True])),
    st.tuples(st.sampled_from(["insert", "flush", "update", "set", "upsert"]), st.booleans(), keys, values),
    st.tuples(st.just("delete"), st.booleans(), values),
)


def _write(connection: Any, kind: str, key: int, value: str | None) -> None:
    email = f"plain§{key}@x"
    match kind:
        case "insert":
            connection.execute(insert(P), [{"id": key, "ssn": value, "email": email}])
        case "flush":
            with Session(connection, join_transaction_mode="create_savepoint") as session:
                session.merge(Person(id=key, ssn=value, email=email))
                session.commit()
        case "update":
            connection.execute(update(P).where(P.c.email == email).values(ssn=value))
        case "set":
            connection.execute(update(P).where(P.c.id == key).values(ssn=value, email=email))
        case "upsert":
            new = sqlite.insert(P).values(id=key, ssn=value, email=email)
            connection.execute(new.on_conflict_do_update(index_elements=[P.c.email], set_={"ssn": new.excluded.ssn}))


@settings(max_examples=sized(40, 1000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(begin=st.sampled_from(Phase), operations=st.lists(OPERATIONS, min_size=6, max_size=30))
def test_both_find_every_row_and_no_value_comes_twice(pair: Pair, begin: Phase, operations: list[Any]) -> None:
    pair.begin(begin)
    known: dict[int, str | None] = dict(zip(range(1, 4), VALUES, strict=False))
    with pair.first.engine.begin() as connection:
        connection.execute(insert(P), [{"id": n, "ssn": has, "email": f"plain§{n}@x"} for n, has in known.items()])
    for kind, is_first, *what in operations:
        process = pair.first if is_first else pair.second
        if kind == "step":
            pair.step(process, *what)
        elif kind == "delete":
            with process.engine.begin() as connection:
                gone = connection.execute(delete(P).where(P.c.ssn == what[0]))
            assert gone.rowcount == sum(value == what[0] for value in known.values())
            known = {key: value for key, value in known.items() if value != what[0]}
        else:
            key, value = what
            with process.engine.begin() as connection:
                if kind == "insert" and key in known:
                    with pytest.raises(IntegrityError):
                        connection.execute(insert(P).values(id=key + 100, email=f"plain§{key}@x"))
                    continue
                _write(connection, kind, key, value)
            if key in known or kind not in {"update", "set"}:
                known[key] = value
        for one in (pair.first, pair.second):
            _finds(one, known)
        _nothing_is_stale(pair.first)


def _finds(process: Process, known: dict[int, str | None]) -> None:
    with process.engine.connect() as connection:
        for value in VALUES:
            having = sorted(key for key, has in known.items() if has == value)
            assert sorted(connection.scalars(select(P.c.id).where(P.c.ssn == value))) == having, process.phase
            if value is not None:
                assert [row["id"] for row in find_all(connection, P, by={"ssn": value})] == having
        for key in known:
            email = f"plain§{key}@x"
            assert connection.scalars(select(P.c.id).where(P.c.email == email)).all() == [key], process.phase


def _nothing_is_stale(process: Process) -> None:
    """A term that is there is of the value that is there, in the slot that nobody asks too: it may be asked again."""
    field = process.opened.field(definition_of(P.c.ssn))
    with process.engine.connect() as connection:
        for row in connection.execute(select(STORED)).mappings():
            for slot in SLOTS:
                found, terms = row[f"ssn_bidx_{slot}"], field.plan().slot("bidx", slot)
                assert terms is not None
                assert found is None or found == terms.term(field.open(row["ssn"]))
