"""Shared pass: one pass over a table, done by workers, each a range of keys at a time.

The run that shares it splits the range, hands the parts out, looks in the database how far they are, and has a part
done again when its worker is lost. A part goes on from its checkpoint, whoever does it.
"""

from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vault.errors import JobError
from vault.jobs.events import Advanced, Waiting, WorkerLost
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobStore, JobWish, Taken
from vault.jobs.one_pass import PassResult
from vault.jobs.parts import Part, Parts, Progress, forget_parts
from vault.jobs.quarantine import of_pass
from vault.jobs.shared_job import SharedJob
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.workers.part_run import run_part
from vault.jobs.workers.part_task import PartReport, PartTask
from vault.jobs.workers.recipe import Recipe
from vault.jobs.workers.splitting import split
from vault.jobs.workers.workers import Workers

__all__ = ["SharedPass"]

LOOK_SECONDS: Final = 0.5
# Ours: parts for each worker, so that a slow one does not hold up the end; and rows below which a part is not worth it.
PARTS_A_WORKER: Final = 4
LEAST_ROWS: Final = 20_000
# Ours: parts given out for each worker, so that none waits for its next.
AHEAD: Final = 2
# Ours: how often a part is given out, before its workers' deaths are taken for its own doing.
MOST_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class SharedPass:
    """recipe: by which each worker comes by the work. worth_it: rows below which the run does the pass itself.

    least_rows: below which a part is not worth it. Satisfies SharesPasses.
    """

    recipe: Recipe
    workers: Workers
    worth_it: int = 0
    parts_a_worker: int = PARTS_A_WORKER
    least_rows: int = LEAST_ROWS

    def begun(self, store: JobStore, taken: Taken) -> Taken:
        done = _sum(Parts(store, taken).progress())
        return replace(
            taken, seen=taken.seen + done.seen, missed=taken.missed + done.missed, failed=taken.failed + done.failed
        )

    def run(self, job: SharedJob, store: JobStore, taken: Taken, heart: Heart, total: int) -> PassResult:
        outage, parts = job.outage(), Parts(store, taken)
        split_before = outage.outlast(parts.stored)
        if not split_before and total - taken.seen < self.worth_it:
            outage.outlast(lambda: forget_parts(store, taken))
            return job.pass_alone(store, taken, heart, total)
        given = split_before or outage.outlast(lambda: parts.begin(self._ranges(job, taken, total)))
        return _Running(self, job, store, taken, heart, total, parts, given).run()

    def _ranges(self, job: SharedJob, taken: Taken, total: int) -> list[KeyRange]:
        left = max(0, total - taken.seen)
        wanted = max(1, min(self.workers.count * self.parts_a_worker, left // self.least_rows))
        return split(job.engine, job.table, KeyRange(after=taken.done_up_to), left, wanted)


@dataclass(slots=True)
class _Running:
    """taken: with what the parts had done when the run began."""

    shared: SharedPass
    job: SharedJob
    store: JobStore
    taken: Taken
    heart: Heart
    total: int
    parts: Parts
    given: Sequence[Part]
    began: float = 0.0
    goal: str = ""
    before: Progress = field(default_factory=Progress)
    runs: dict[str, str] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)
    todo: deque[Part] = field(default_factory=deque)
    running: dict["Future[PartReport]", Part] = field(default_factory=dict)

    def run(self) -> PassResult:
        outage = self.job.outage()
        self.began, self.goal = self.job.clock(), self.job.refreshed_goal()
        progress = outage.outlast(self.parts.progress)
        self.before = _sum(progress)
        self.todo.extend(part for part in self.given if not progress.get(part.name.part, Progress()).is_done)
        self._tell_lost(progress)
        while self.todo or self.running:
            self.job.hold(self.store, self.taken, self.heart)
            if self.heart.is_stopping():
                self.todo.clear()
                with suppress(JobError):  # as at the end of the run itself
                    outage.outlast(lambda: self.store.wish(self.taken.name, JobWish.STOP))
            self._give_out()
            if not self.running:
                self.heart.rest(LOOK_SECONDS)
            for future in wait(self.running, LOOK_SECONDS, FIRST_COMPLETED).done:
                self._settled(self.running.pop(future), future)
            progress = outage.outlast(self.parts.progress)
            self._tell_lost(progress)
            self._tell_advanced(_sum(progress))
        self._tell_failed()
        done = _sum(progress)
        stopped = not all(progress.get(part.name.part, Progress()).is_done for part in self.given)
        if not stopped:
            outage.outlast(self.parts.end)
        return replace(self._result(done), stopped=stopped)

    def _give_out(self) -> None:
        while self.todo and len(self.running) < AHEAD * self.shared.workers.count:
            part = self.todo.popleft()
            self.tries[part.name.part] += 1
            if self.tries[part.name.part] > MOST_TRIES:
                raise JobError(
                    f"{self.taken.name.table}: the worker of one range of keys was lost {MOST_TRIES} times, as of too"
                    " little memory; what was written so far stays: go on by the same command, with fewer workers"
                )
            try:
                future = self.shared.workers.submit(run_part, self._task(part))
            except self.shared.workers.lost:
                self.todo.appendleft(part)
                return  # looked at again after a while, and so often
            self.running[future] = part

    def _task(self, part: Part) -> PartTask:
        taken, rows = self.taken, max(0, self.total - self.taken.seen) // max(1, len(self.given))
        return PartTask(
            self.shared.workers.session,
            self.shared.recipe,
            self._settings(),
            taken.name,
            taken.run,
            taken.mark,
            self.goal,
            part,
            rows,
        )

    def _settings(self) -> Any:
        """The rate that is allowed is of all workers together."""
        settings = self.job.settings
        rate = settings.pace.rows_per_second
        if rate is None:
            return settings
        return replace(settings, pace=replace(settings.pace, rows_per_second=rate / self.shared.workers.count))

    def _settled(self, part: Part, future: "Future[PartReport]") -> None:
        """Raises: JobError for a part that cannot be done."""
        try:
            report = future.result()
        except self.shared.workers.lost:
            self.todo.append(part)
            return
        for reason, seconds in report.waited:
            self.job.notify(Waiting(self.taken.name.job, self.taken.name.table, reason, seconds))
        if report.other_goal:
            self._require_goal(report.other_goal)
            self.todo.append(part)
        elif report.failure:
            raise JobError(report.failure)
        elif report.stopped:  # the worker alone was to end, or all are
            self.todo.append(part)

    def _require_goal(self, other: str) -> None:
        """A rotation may come to a worker first; a worker that reads another policy is refused."""
        self.goal = self.job.refreshed_goal()
        if self.goal != other:
            raise JobError(
                f"{self.taken.name.table}: a worker has other definitions or keys of this table than this process:"
                " bring the policy, the models and the key store that it reads to what they are here"
            )

    def _result(self, done: Progress) -> PassResult:
        """Of the pass, but for `rewritten`, which is of this run alone."""
        taken, before = self.taken, self.before
        return PassResult(
            taken.seen + done.seen - before.seen,
            done.rewritten - before.rewritten,
            taken.missed + done.missed - before.missed,
            taken.failed + done.failed - before.failed,
        )

    def _tell_advanced(self, done: Progress) -> None:
        result, name = self._result(done), self.taken.name
        seconds = max(self.job.clock() - self.began, 1e-9)
        rate = (result.seen - self.taken.seen) / seconds
        total = max(self.total, result.seen)
        left = round((total - result.seen) / rate, 1) if rate else None
        counts = (result.rewritten, result.missed, result.failed)
        self.job.notify(
            Advanced(name.job, name.table, self.taken.number, result.seen, total, *counts, round(rate, 1), left)
        )

    def _tell_lost(self, progress: dict[str, Progress]) -> None:
        """Whose run has changed was begun again by another worker."""
        for part in self.given:
            run = progress.get(part.name.part, Progress()).run
            before = self.runs.get(part.name.part)
            if run is not None:
                self.runs[part.name.part] = run
            if before is not None and run != before:
                self.job.notify(WorkerLost(self.taken.name.job, self.taken.name.table, part.place + 1, len(self.given)))

    def _tell_failed(self) -> None:
        name = self.taken.name
        with self.store.engine.connect() as connection:
            for row in of_pass(connection, name.job, name.table, self.taken.mark):
                self.job.notify(self.job.told_failed(row))


def _sum(progress: dict[str, Progress]) -> Progress:
    parts = progress.values()
    return Progress(
        seen=sum(one.seen for one in parts),
        missed=sum(one.missed for one in parts),
        failed=sum(one.failed for one in parts),
        rewritten=sum(one.rewritten for one in parts),
    )
