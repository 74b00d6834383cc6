"""Rows and keys as a machine: two databases with one keyring are written, paused, copied, cleared in any order.

Whatever was committed opens: no row names a key that the commands allowed to be retired or destroyed.
"""

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import typer
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import Connection, RootTransaction, insert, select
from sqlalchemy.exc import DBAPIError

from kms import KeyringError, KeyState, ProviderSettings, Purpose
from tests.kms.rested import let_time_pass
from tests.sizes import sized
from tests.vault.projects import POLICY, make_project, visit, write_policy
from tests.vault.retirement.aged_clearances import age_clearances
from vault.cli.key_clearing import KeyClearing
from vault.errors import VaultError
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.reencrypt import Reencrypt
from vault.mapping.definitions import definition_of
from vault.policy import Policy
from vault.project import Project
from vault.rows.raw_table import raw_table

DATA = Purpose.DATA
IN_MEMORY = Path("/dev/shm")  # where a commit does not wait for the disk
QUICK = JobSettings(lock_seconds=0.05, patience=0.0, passes=2)
places = st.integers(0, 1)
choices = st.integers(0, 5)
steps = st.sampled_from([1, 179, 181, 3600, 7 * 86_400, 31 * 86_400])


@dataclass
class Late:
    """A row that a service sealed and that has not reached the database."""

    place: int
    row: dict[str, Any]


@dataclass
class Open:
    """A transaction that has written."""

    connection: Connection
    transaction: RootTransaction


class NoRowIsLost(RuleBasedStateMachine):
    """Rows of the key store go into the past as time passes, so that the clocks that count are the real ones."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None)
        self.projects: list[Project] = []
        self.open: dict[int, Open] = {}
        self.lates: list[Late] = []
        self.written = 0

    @initialize()
    def create(self) -> None:
        first = Path(self.folder.name)
        self.projects.append(make_project(first, f"sqlite:///{first}/one.db?timeout=0.05"))
        second = first / "second"
        second.mkdir()
        write_policy(second, f"sqlite:///{second}/two.db?timeout=0.05")
        text = POLICY.format(database=f"sqlite:///{second}/two.db?timeout=0.05")
        text = text.replace("sqlite:///keys.db", f"sqlite:///{first}/keys.db").replace(
            "local:kek", f"local:{first}/kek"
        )
        (second / "noisevault.toml").write_text(text)
        self.projects.append(Project.create(Policy.load(second / "noisevault.toml"), ProviderSettings()))
        for place in (0, 1):
            self.write(place)

    @property
    def keyring(self) -> Any:
        return self.projects[0].opened.keyring

    def teardown(self) -> None:
        for one in self.open.values():
            one.transaction.rollback()
            one.connection.close()
        for project in self.projects:
            project.close()
        self.folder.cleanup()

    def next_row(self) -> dict[str, Any]:
        self.written += 1
        return visit(self.written, national_id=str(self.written))

    @rule(place=places)
    def write(self, place: int) -> None:
        project = self.projects[place]
        project.opened.look_again()
        with suppress(DBAPIError), project.engine.begin() as connection:  # who sleeps in a transaction holds the file
            connection.execute(insert(project.table("visit")), [self.next_row()])

    @rule(place=places)
    def seal(self, place: int) -> None:
        """By the key that is active now; the service sleeps before its statement reaches the database."""
        project = self.projects[place]
        project.opened.look_again()
        with project.engine.connect():
            pass  # as a service does before it seals: the database is registered
        row = self.next_row()
        table = project.table("visit")
        field = project.opened.field(definition_of(table.c.diagnosis))
        sealed = field.seal("late", {"person": row["person"], "year": row["year"]})
        self.lates.append(Late(place, {"person": row["person"], "year": 1, "site": 1, "diagnosis": sealed}))

    @rule(which=choices)
    def wake(self, which: int) -> None:
        """One who slept: its row is committed, or refused."""
        if self.lates:
            self.insert(self.lates[which % len(self.lates)])

    @rule()
    def wake_who_slept_longest(self) -> None:
        """Those whose key is retired or destroyed by now."""
        live = {record.key_id for record in self.keyring.records(DATA) if record.live}
        for late in self.lates:
            if late.row["diagnosis"][2:6] not in live:
                self.insert(late)

    def insert(self, late: Late) -> None:
        project = self.projects[late.place]
        with suppress(DBAPIError), project.engine.begin() as connection:
            connection.execute(insert(raw_table(project.table("visit"))).values(late.row))

    @rule(which=choices)
    def wake_and_sleep_before_the_commit(self, which: int) -> None:
        late = self.lates[which % len(self.lates)] if self.lates else None
        if late is None or late.place in self.open:
            return
        project = self.projects[late.place]
        connection = project.engine.connect()
        transaction = connection.begin()
        try:
            connection.execute(insert(raw_table(project.table("visit"))).values(late.row))
        except DBAPIError:
            transaction.rollback()
            connection.close()
        else:
            self.open[late.place] = Open(connection, transaction)

    @rule(place=places)
    def commit(self, place: int) -> None:
        if place in self.open:
            one = self.open.pop(place)
            one.transaction.commit()
            one.connection.close()

    @rule(place=places)
    def copy(self, place: int) -> None:
        """Stored bytes of one database into the other, as an export and an import do."""
        source, target = self.projects[place], self.projects[1 - place]
        raw = raw_table(source.table("visit"))
        with source.engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(select(raw).limit(3)).mappings()]
        for row in rows:
            with suppress(DBAPIError), target.engine.begin() as connection:
                connection.execute(insert(raw_table(target.table("visit"))).values(row))

    def one_of(self, which: int, *states: KeyState) -> bytes | None:
        found = [record.key_id for record in self.keyring.records(DATA) if record.state in states]
        return bytes(found[which % len(found)]) if found else None

    @rule(seconds=st.sampled_from([0, 181]))
    def rotate(self, seconds: int) -> None:
        self.keyring.lifecycle.rotate(DATA)
        self.pass_time(seconds)

    @rule()
    def prepare(self) -> None:
        self.keyring.lifecycle.prepare(DATA)

    @rule(place=places)
    def reencrypt(self, place: int) -> None:
        project = self.projects[place]
        project.opened.look_again()
        with suppress(VaultError):
            Job(Reencrypt.of(project.table("visit"), project.opened), project.engine, QUICK).run()

    @rule(seconds=steps)
    def pass_time(self, seconds: int) -> None:
        engine = self.projects[0].opened.key_store.engine
        let_time_pass(engine, timedelta(seconds=seconds))
        age_clearances(engine, timedelta(seconds=seconds))

    @rule(
        which=choices,
        order=st.sampled_from([[0], [1], [0, 1], [1, 0]]),
        moves=st.booleans(),
        days=st.sampled_from([0, 30]),
    )
    def retire(self, which: int, order: list[int], moves: bool, days: int) -> None:
        key = self.one_of(which, KeyState.DEACTIVATED, KeyState.DEACTIVATED, KeyState.PRE_ACTIVE)
        for place in order if key is not None else ():
            project = self.projects[place]
            clearing = KeyClearing(project, moves, 0.0, QUICK)
            with suppress(VaultError, KeyringError, typer.Exit):
                project.opened.keyring.lifecycle.retire(
                    key,
                    timedelta(days=days),
                    shortest=timedelta(0),
                    look=lambda found, clearing=clearing: clearing.require_cleared(found, found.changed_at),
                )

    @rule(order=st.sampled_from([[0, 1], [1, 0]]), woken=st.booleans())
    def go_on(self, order: list[int], woken: bool) -> None:
        """The next step of an operator who ends the oldest key that is left; woken: transactions end before it."""
        for place in (0, 1) if woken else ():
            self.commit(place)
        if self.one_of(0, KeyState.RETIRED) is not None:
            self.destroy(0, order, waited=True)
        elif self.one_of(0, KeyState.DEACTIVATED) is not None:
            self.pass_time(181)
            self.retire(0, order, moves=True, days=30)
        else:
            self.rotate(181)

    @rule(order=st.sampled_from([[0, 1], [1, 0]]))
    def go_on_too(self, order: list[int]) -> None:
        self.go_on(order, woken=True)

    @rule(which=choices)
    def restore(self, which: int) -> None:
        key = self.one_of(which, KeyState.RETIRED)
        if key is not None:
            self.keyring.lifecycle.restore(key)

    @rule(which=choices, order=st.sampled_from([[0], [1], [0, 1], [1, 0]]), waited=st.booleans())
    def destroy(self, which: int, order: list[int], waited: bool) -> None:
        key = self.one_of(which, KeyState.RETIRED)
        if waited:
            self.pass_time(31 * 86_400)
        for place in order if key is not None else ():
            project = self.projects[place]

            def look(record: Any, project: Project = project) -> None:
                KeyClearing(project, patience=0.0).require_cleared(record, record.destroy_after)

            with suppress(VaultError, KeyringError):
                project.opened.keyring.lifecycle.destroy(key, look=look)

    @rule(place=places)
    def make_the_table_anew(self, place: int) -> None:
        """As a migration does on SQLite: its triggers are gone until the next retire or destroy, as the docs say."""
        if place in self.open or any(one.state is KeyState.DESTROYED for one in self.keyring.records(DATA)):
            return
        with self.projects[place].engine.begin() as connection:
            for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
                connection.exec_driver_sql(f"DROP TRIGGER {name}")

    @invariant()
    def what_is_committed_opens_or_can_be_brought_back(self) -> None:
        if not self.projects:
            return
        states = {record.key_id: record.state for record in self.keyring.records(DATA)}
        for project in self.projects:
            raw = raw_table(project.table("visit"))
            with project.engine.connect() as connection:
                values = connection.scalars(select(raw.c.diagnosis).where(raw.c.diagnosis.is_not(None))).all()
            named = {states[value[2:6]] for value in values}
            assert KeyState.DESTROYED not in named


NoRowIsLost.TestCase.settings = settings(
    max_examples=sized(12, 300),
    stateful_step_count=sized(30, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestNoRowIsLost = NoRowIsLost.TestCase
