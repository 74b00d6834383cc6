"""An index of a migrating field changes its slot while the field is in any of its modes: both go on.

Whatever the mode and the phase, and in whichever phase a row was written, one phase apart from the one that asks: the
plaintext is asked by its own equality while it is read, and the slot of the phase afterwards.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, delete, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session, aliased

from kms.key_record import Purpose
from tests.flows.phases import NEIGHBOURS
from tests.pairwise import covering_params
from tests.servers.databases import DATABASES, need_database
from tests.vault.mapping.conftest import new_vault
from tests.vault.mapping.driver_spy import DriverSpy
from tests.vault.mapping.migrating import Base, Patient, SetModes
from tests.vault.phases import set_phase
from vault import attach, find, find_all
from vault.changeover.phase import NOWHERE, Phase, Subject
from vault.definitions.index_slot import SLOTS
from vault.errors import SealedColumnError
from vault.index.slot_storage import index_slot_column
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.migrating.backfill import Backfill
from vault.mapping import definition_of, via
from vault.modes.mode import Mode
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

P: Any = Patient.__table__
RAW = raw_table(P)
SUBJECTS = [Subject("patient", column, index) for column, index in (("ssn_sealed", "bidx"), ("phone_sealed", "bidx"))]
LAST_FOUR = Subject("patient", "phone_sealed", "last4")
ANN, BEA = "plain§ann", "plain§bea"
PHONE = "plain§840 11 6789"
WRITTEN = {Phase.OLD: "a", Phase.DUAL_ASK_OLD: "ab", Phase.DUAL_ASK_NEW: "ab", Phase.NEW: "b"}


@dataclass
class Both:
    """A database with the migrating tables, with modes and phases that a test sets."""

    engine: Engine
    vault: OpenedVault
    modes: SetModes
    spy: DriverSpy

    def turn(self, mode: Mode, phase: Phase | None, *, old: str = "a", new: str = "b") -> None:
        self.modes.set(mode)
        for subject in (*SUBJECTS, LAST_FOUR):
            set_phase(self.vault.key_store, self.vault.keyring, subject, phase, old=old, new=new)

    def slots(self, column: Any) -> dict[int, tuple[bool, ...]]:
        """By key, in which slots the row has a term; each is that of its value under the slot's own key."""
        field = self.vault.field(definition_of(column))
        name = column.name
        terms = {slot: field.plan().slot("bidx", slot) for slot in SLOTS}
        found = {}
        with self.engine.connect() as connection:
            for row in connection.execute(select(RAW)).mappings():
                stored = [row[f"{name}_bidx_{slot}"] for slot in SLOTS]
                value = field.open(row[name])
                for slot, term in zip(SLOTS, stored, strict=True):
                    maker = terms[slot]
                    assert term is None or (maker is not None and bytes(term) == maker.term(value))
                found[row["id"]] = tuple(term is not None for term in stored)
        return found

    def written(self, phase: Phase, old: str) -> tuple[bool, ...]:
        """Which slots a phase writes, where old is the one that is left."""
        places = WRITTEN[phase] if old == "a" else WRITTEN[phase].translate(str.maketrans("ab", "ba"))
        return tuple(slot in places for slot in SLOTS)


@pytest.fixture(scope="module", params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    need_database(request.node, request.param)
    with ExitStack() as closed:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('both') / 'application.db'}"
        else:
            from tests.servers import mariadb, postgres

            module = postgres if request.param == "postgres" else mariadb
            server = request.getfixturevalue(f"{request.param}_server_url")
            url = closed.enter_context(module.fresh_database(server))
        spy, modes = DriverSpy(), SetModes()
        vault = new_vault(tmp_path_factory.mktemp("both-keys"))
        closed.callback(vault.close)
        vault.modes = modes
        engine = spy.engine(url)
        closed.callback(engine.dispose)
        attach(engine, vault, Base.metadata)
        Base.metadata.create_all(engine)
        vault.keyring.lifecycle.rotate(Purpose.INDEX)
        for name in ("ssn_sealed_bidx_b", "phone_sealed_bidx_b", "phone_sealed_last4_b"):
            length = P.c[name].type.length
            index_slot_column(engine, None, "patient", name, unique=name.startswith("ssn"), length=length)
        made = Both(engine, vault, modes, spy)
        made.turn(Mode.PLAINTEXT, Phase.OLD)  # from now on both slots are pinned
        yield made


@pytest.fixture
def both(database: Both) -> Iterator[Both]:
    yield database
    with database.engine.begin() as connection:
        connection.execute(delete(RAW))


def _near(_server: str, _mode: Mode, written: Phase, asked: Phase, old: str) -> bool:
    return (written, asked) in NEIGHBOURS and (old == "a" or written is asked)


@pytest.mark.parametrize(
    ("database", "mode", "written", "asked", "old"),
    covering_params(DATABASES, Mode, Phase, Phase, "ab", possible=_near),
    indirect=["database"],
)
def test_what_one_phase_writes_the_next_one_finds_in_every_mode(
    both: Both, mode: Mode, written: Phase, asked: Phase, old: str
) -> None:
    new = "b" if old == "a" else "a"
    both.turn(mode, written, old=old, new=new)
    with Session(both.engine) as session:
        session.add(Patient(id=1, ssn=ANN, phone=PHONE))
        session.commit()
    with both.engine.begin() as connection:
        connection.execute(insert(P), [{"id": 2, "ssn_sealed": "plain§x"}, {"id": 3, "ssn_sealed": None}])
        connection.execute(update(P).where(P.c.ssn_sealed == "plain§x").values(ssn_sealed=BEA))
    its = both.written(written, old) if mode.writes_sealed else (False, False)
    assert both.slots(P.c.ssn_sealed) == {1: its, 2: its, 3: (False, False)}
    assert both.slots(P.c.phone_sealed) == {1: its, 2: (False, False), 3: (False, False)}
    both.turn(mode, asked, old=old, new=new)
    both.spy.sent.clear()
    with Session(both.engine) as session:
        other = aliased(Patient)
        assert session.scalars(select(Patient.id).where(Patient.ssn == ANN)).all() == [1]
        assert session.scalars(select(Patient.id).where(Patient.ssn.in_([ANN, BEA])).order_by(Patient.id)).all() == [
            1,
            2,
        ]
        assert session.scalars(select(Patient.id).where(Patient.ssn != ANN)).all() == [2]
        assert session.scalars(select(Patient.id).join(other, Patient.ssn == other.ssn).order_by(Patient.id)).all() == [
            1,
            2,
        ]
        found = find(session, Patient, by={Patient.ssn: BEA})
        assert found is not None
        assert (found.id, found.ssn) == (2, BEA)
        assert find_all(session, Patient, by={Patient.phone: PHONE}).count() == 1
        if mode.reads_sealed:
            assert find_all(session, Patient, by={Patient.phone: via("last4", "6789")}).count() == 1
    if both.engine.dialect.name in {"sqlite", "postgresql"}:
        upsert = (sqlite if both.engine.dialect.name == "sqlite" else postgresql).insert(P)
        changed = upsert.on_conflict_do_update(index_elements=["ssn_sealed"], set_={"name": "changed"})
        with both.engine.begin() as connection:
            connection.execute(changed, [{"id": 9, "ssn_sealed": ANN}])
            assert connection.execute(select(P.c.id, P.c.name).where(P.c.ssn_sealed == ANN)).all() == [(1, "changed")]
    assert not [sql for sql, _ in both.spy.sent if "{" in sql or "plain§" in sql]


@pytest.mark.parametrize(("database", "mode"), covering_params(DATABASES, Mode, together=1), indirect=["database"])
def test_while_an_index_is_only_made_a_field_is_asked_as_long_as_its_plaintext_is_read(both: Both, mode: Mode) -> None:
    both.turn(mode, Phase.DUAL_ASK_OLD, old=NOWHERE, new="a")
    with Session(both.engine) as session:
        session.add(Patient(id=1, ssn=ANN))
        session.commit()
        asked = select(Patient.id).where(Patient.ssn == ANN)
        if mode.reads_sealed:
            with pytest.raises(SealedColumnError, match="cannot be asked now"):
                session.scalars(asked).all()
            with pytest.raises(SealedColumnError, match="cannot be asked now"):
                find(session, Patient, by={Patient.ssn: ANN})
        else:
            assert session.scalars(asked).all() == [1]
            found = find(session, Patient, by={Patient.ssn: ANN})
            assert found is not None
            assert found.id == 1
            assert find(session, Patient, by={Patient.ssn: BEA}) is None


@pytest.mark.parametrize(("database", "phase"), covering_params(DATABASES, Phase, together=1), indirect=["database"])
def test_a_backfill_writes_the_slots_that_the_phase_writes(both: Both, phase: Phase) -> None:
    both.turn(Mode.DUAL_READ_PLAINTEXT, phase)
    with both.engine.begin() as connection:
        rows = [{"id": n, "ssn": f"plain§{n}"} for n in range(1, 6)]
        connection.execute(text("INSERT INTO patient (id, ssn) VALUES (:id, :ssn)"), rows)
    tally = Job(Backfill(P.c.ssn_sealed, both.vault), both.engine).run()
    assert (tally.rewritten, tally.outcome) == (5, JobState.COMPLETE)
    assert both.slots(P.c.ssn_sealed) == dict.fromkeys(range(1, 6), both.written(phase, "a"))
