"""reindex: move indexes to the active index key, or to what is declared, services going on."""

import getpass
import platform
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer
from rich.console import Console

from kms.locked_keyring import LockedKeyring
from kms.utc_text import to_the_second
from vault.changeover.in_force import read_in_force
from vault.changeover.phase import NOWHERE, Changeover, Subject
from vault.changeover.store import ChangeoverStore
from vault.cli.audit_events import audited
from vault.cli.chosen_indexes import ChosenIndexes
from vault.cli.index_keys import IndexKeys, index_keys
from vault.cli.index_status import say_status
from vault.cli.job_ending import INCOMPLETE, STOPPED
from vault.cli.models import ModelsOption
from vault.cli.one_database import OnlyHereOption, refuse_other_databases
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace, ReindexRecipe
from vault.cli.running_jobs import running_jobs
from vault.cli.sharing import DaskOption, WorkersOption, sharing
from vault.definition_store import create_schema
from vault.errors import PolicyError
from vault.index.change import begin_compound_change, begin_field_changes, record_removal, resting_slot
from vault.index.home import at_home
from vault.index.slot_storage import index_slot_column
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.pace import PaceSettings
from vault.jobs.reindexing.empty_slots import EmptySlots
from vault.jobs.reindexing.index_members import recorded_parts
from vault.jobs.reindexing.index_steps import IndexSteps
from vault.jobs.reindexing.reindex import Reindex
from vault.jobs.reindexing.slot_move import slot_length
from vault.jobs.reindexing.standing import Standing
from vault.jobs.tally import Tally
from vault.jobs.work import Work
from vault.mapping.compound_index import compounds_of

__all__ = ["reindex_tables"]

DEFAULT: Final = JobSettings()
LOOK_SECONDS: Final = 1.0


def reindex_tables(
    place: Annotated[
        str | None, typer.Argument(metavar="TABLE.COLUMN", help="Or TABLE, of an index over several columns.")
    ] = None,
    index: Annotated[str | None, typer.Option("--index", metavar="NAME", help="One index; all of it else.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All indexes of all tables.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say where each index stands, and change nothing.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Go back to the slot that was asked before.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for leases, until all is done.")] = False,
    deployed: Annotated[
        bool, typer.Option("--deployed", help="Every service runs the code that declares the new index.")
    ] = False,
    only_here: OnlyHereOption = False,
    tenant: Annotated[
        str | None,
        typer.Option("--tenant", metavar="NAME", help="Rows of that tenant's keyring, in shared tables."),
    ] = None,
    keyring: Annotated[
        str | None, typer.Option("--keyring", metavar="NAME", help="The keyring in which the index lives, if another.")
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="S", help="The sealing lease of your services, if not the policy's."),
    ] = None,
    rows_per_second: Annotated[
        float | None, typer.Option(min=0.1, metavar="N", help="Write at most N rows a second.")
    ] = None,
    rows_a_batch: Annotated[int, typer.Option(min=1, metavar="N", help="At most N rows in one transaction.")] = (
        DEFAULT.pace.most_rows
    ),
    workers: WorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move an index to the active index key, another normaliser or width; make a new one on old rows; remove one.

    It makes the steps that are due and says what it waits for. May be stopped anywhere and started again.
    Exit status: 0 done, 3 waits or rows are left, 4 stopped before the end, 1 refused or failed.
    """
    if tenant is not None and keyring is not None:
        raise PolicyError("--tenant names whose rows, --keyring where the index of all rows lives: say one")
    with ExitStack() as closed:
        project = closed.enter_context(open_project(policy, models, registered=False))
        keys = closed.enter_context(index_keys(project, tenant, keyring))
        project = keys.project
        create_schema(project.opened.key_store.engine)  # one that was made before there were changeovers
        told = timedelta(seconds=lease or project.policy.vault.sealing_lease)
        changeovers = ChangeoverStore(project.opened.key_store, project.opened.keyring.id, told)
        console = Console(markup=False, highlight=False, soft_wrap=True)
        if status:
            say_status(console, project, changeovers, as_json=as_json)
            return
        if not abort and not only_here:
            refuse_other_databases(project, "an index moves")
        chosen = ChosenIndexes.of(project, place, index, every=every)
        pace = PaceSettings(most_rows=rows_a_batch, rows_per_second=rows_per_second)
        with (
            sharing(project, workers, dask) as shared,
            audited(project),
            running_jobs(console, as_lines_of_json=as_json) as around,
        ):

            def recipe(subject: Subject, work: Work) -> ReindexRecipe:
                assert isinstance(work, Reindex | EmptySlots)  # noqa: S101  # the jobs of the steps
                place_of_it = CommandPlace.of(policy, models, registered=False)
                empties = isinstance(work, EmptySlots)
                return ReindexRecipe(place_of_it, tenant, keyring, subject, work.table.fullname, work.slot, empties)

            def run(subject: Subject, work: Work) -> Tally:
                sharers = shared.of(recipe(subject, work))
                settings = JobSettings(pace)
                return Job(work, project.engine, settings, notify=around.notify, stop=around.stop, shared=sharers).run()

            command = _Reindexing(keys, changeovers, chosen, run, around.stop, abort, deployed)
            standings = command.run(wait=wait, say=(lambda _line: None) if as_json else console.print)
    if around.stop.is_set():
        raise typer.Exit(STOPPED)
    if any(not standing.is_done for standing in standings):
        raise typer.Exit(INCOMPLETE)


class _Reindexing:
    def __init__(
        self,
        keys: IndexKeys,
        changeovers: ChangeoverStore,
        chosen: ChosenIndexes,
        job: Callable[[Subject, Work], Tally],
        stop: threading.Event,
        abort: bool,
        deployed: bool,
    ) -> None:
        """job: does a work of the subject's index."""
        self._keys = keys
        self._project = keys.project
        self._changeovers = changeovers
        self._chosen = chosen
        self._job = job
        self._stop = stop
        self._abort = abort
        self._deployed = deployed
        self._home = keys.home
        self._who = f"{getpass.getuser()}@{platform.node()}"

    def run(self, *, wait: bool, say: Callable[[str], None]) -> list[Standing]:
        if not self._abort:
            for begun in self._begin():
                say(f"{begun.subject.label}: begun, from {_named(begun.old)} to {_named(begun.new)}")
            self._index_slots_in_use(say)
        subjects = [one.subject for one in self._changeovers.under_way() if self._chosen.has(one.subject)]
        if not subjects:
            say("nothing is due: every index is as it is declared and under the active index key")
        standings: dict[Subject, Standing] = {}
        while True:
            for subject in subjects:
                standing = standings.get(subject)
                if not self._stop.is_set() and (standing is None or not standing.is_done):
                    standings[subject] = self._one(subject)
                    say(_said(subject, standings[subject], wait=wait))
            times = [one.ready_at for one in standings.values() if one.ready_at is not None]
            if not wait or self._stop.is_set() or not times:
                return list(standings.values())
            while datetime.now(UTC) < min(times) and not self._stop.wait(LOOK_SECONDS):
                pass

    def _begin(self) -> list[Changeover]:
        begun: list[Changeover] = []
        keyring, who = self._project.opened.keyring, self._who
        for field in self._chosen.fields:
            declared = field if self._home is None else at_home(field, self._home)
            begun += begin_field_changes(
                self._changeovers, keyring, declared, who=who, home=self._home, names=self._chosen.names
            )
        for table in self._chosen.tables if self._home is None else ():
            for compound in compounds_of(table):
                if self._chosen.names is None or compound.definition.name in self._chosen.names:
                    begun += begin_compound_change(self._changeovers, keyring, compound.definition, who=who)
        keyring.beside.end()
        return begun

    def _index_slots_in_use(self, say: Callable[[str], None]) -> None:
        """A table that was made after its index had moved has the database index on slot a, as the models say."""
        project, keyring = self._project, self._project.opened.keyring
        state = read_in_force(project.opened.key_store.engine, keyring.id, keyring.name)
        for subject in sorted(state.pins.keys() - state.changeovers.keys()):
            slot = resting_slot(state.pins[subject])
            for member in self._keys.members(subject) if slot is not None and self._chosen.has(subject) else ():
                move, table = member.move(str(slot)), member.table
                length = slot_length(member.serving(), move)
                if index_slot_column(
                    project.engine, table.schema, table.name, move.term_column, unique=member.unique, length=length
                ):
                    say(f"{subject.label}: the database index of slot {slot} was not there, and is made")

    def _one(self, subject: Subject) -> Standing:
        project, opened = self._project, self._project.opened
        steps = IndexSteps(
            self._changeovers,
            subject,
            self._keys.members(subject),
            recorded_parts(opened, subject),
            project.engine,
            lambda work: self._job(subject, work),
            opened.keyring.beside.end,
            self._who,
            deployed=self._deployed,
            on_removal=self._on_removal(subject),
        )
        return steps.back() if self._abort else steps.forward()

    def _on_removal(self, subject: Subject) -> Callable[[LockedKeyring], None]:
        keyring_id = self._changeovers.keyring_id

        def record(store: LockedKeyring) -> None:
            for field in self._chosen.fields:
                if (field.table, field.column) == (subject.table, subject.column):
                    record_removal(store, keyring_id, field)

        return record


def _said(subject: Subject, standing: Standing, *, wait: bool) -> str:
    if standing.changeover is None:
        return f"{subject.label}: done"
    phase = f"{subject.label}: phase {int(standing.changeover.phase)} of 4"
    if standing.ready_at is not None:
        ready = to_the_second(standing.ready_at)
        return f"{phase}; waits until {ready}" if wait else f"{phase}; come back after {ready}, or run it with --wait"
    return f"{phase}; {standing.reason}"


def _named(slot: str) -> str:
    return "nothing" if slot == NOWHERE else f"slot {slot}"
