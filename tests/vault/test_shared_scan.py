"""Scans that workers share: one answer whatever the split, nothing in the clear between them, one answer each range."""

import pickle
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

import dp
from tests.vault.jobs.workers.secrets_of import secrets_of, told_in
from tests.vault.projects import make_project, visit
from vault.bridge import answer, answers, chunks, meaning, read_part, scan_of
from vault.budgets import apply_budgets, declare_budgets
from vault.cli.recipes import CommandPlace
from vault.errors import JobError, PolicyError
from vault.jobs.workers.process_pool import ProcessPool
from vault.jobs.workers.workers import WorkersOf
from vault.ledger_keys import question_mac, tie_break_salt
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project
from vault.question import admit, parse
from vault.rows.raw_table import raw_table
from vault.rows.told_length import of_any_length
from vault.shared_scan import PartToRead, ScanReport, ScanTask, SharedScan, scan_part
from vault.translation import dp_question, price_of

pytestmark = pytest.mark.postgres
QUESTIONS = (
    "count",
    "sum(spending) by site",
    "mean(spending) where site = 2",
    "count_units by site",
    "count_distinct(national_id) where site = 2",
    "variance(spending) by site",
    "std(spending / site)",
    "quantile(spending, 0.1, 0.5) by site",
    "histogram(spending) by site",
    "top(2) by site",
)


@pytest.fixture
def project(tmp_path: Path, postgres_url: str) -> Iterator[Project]:
    """Of each person more visits than count, to different sites, so that most persons are in several ranges' rows."""
    made = make_project(tmp_path, postgres_url)
    with closing(open_ledger(made.policy, made.opened.keyring)) as ledger:
        declare_budgets(ledger, made.policy)
    rows = [
        visit(person, year, site=1 + (person * year) % 4, spending=(person * 37 + year * 11) % 130 - 10.0)
        for person in range(40)
        for year in range(1, 8)
    ]
    with made.engine.begin() as connection:
        connection.execute(insert(made.tables["visit"]), rows)
    yield made
    made.close()


def place(folder: Path) -> CommandPlace:
    return CommandPlace.of(folder / "noisevault.toml", None)


def part_of(project: Project, text: str) -> PartToRead:
    question, live = admit(parse(text), project.policy, "visits"), project.opened.keyring.warm()
    return PartToRead("visits", question.canonical(), meaning(project, "visits", question), live)


def alone(project: Project, text: str) -> dp.Aggregates:
    question, rules = admit(parse(text), project.policy, "visits"), project.policy.dataset["visits"]
    asked = dp_question(project.policy, "visits", question)
    salt = tie_break_salt(project.opened.keyring, "visits")
    scan = scan_of(project, "visits", question, project.opened.keyring.warm())
    return asked.aggregate(asked.bound(chunks(scan, project.policy, rules, question, salt), salt))


def shared(project: Project, text: str, scan: SharedScan) -> dp.Aggregates:
    asked = dp_question(project.policy, "visits", admit(parse(text), project.policy, "visits"))
    table, mac = project.tables["visit"], question_mac(project.opened.keyring)
    sealed = scan.read(read_part, part_of(project, text), project.engine, table, mac)
    salt = tie_break_salt(project.opened.keyring, "visits")
    return asked.aggregate(asked.bound((dp.Partial.from_bytes(of_any_length(told)) for told in sealed), salt))


def all_of(aggregates: dp.Aggregates) -> object:
    """The totals, and of quantiles the values beneath them."""
    return aggregates.totals, [values.tolist() for values in getattr(aggregates, "values", ())]


@pytest.mark.parametrize("least", [280, 100, 20, 5])
def test_the_answer_is_the_same_whatever_the_split(project: Project, tmp_path: Path, least: int) -> None:
    with ThreadPoolExecutor(3) as threads:
        scan = SharedScan(WorkersOf(threads, 20), place(tmp_path), least)
        for text in QUESTIONS:
            assert all_of(shared(project, text, scan)) == all_of(alone(project, text)), text


class Noted(ThreadPoolExecutor):
    """What is given out, and what comes back, as it is pickled."""

    def __init__(self) -> None:
        super().__init__(2)
        self.told = bytearray()
        self.tasks: list[ScanTask] = []

    def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
        self.tasks.append(task)
        self.told += pickle.dumps((run, task))

        def done() -> ScanReport:
            report: ScanReport = run(pickle.loads(pickle.dumps(task)))
            self.told.extend(pickle.dumps(report))
            return report

        return super().submit(done)


def test_what_travels_shows_no_key_and_nothing_of_a_row(project: Project, tmp_path: Path) -> None:
    with Noted() as noted:
        scan = SharedScan(WorkersOf(noted, 2), place(tmp_path), 40)
        shared(project, "sum(spending) by site", scan)
        mac, salt = question_mac(project.opened.keyring), tie_break_salt(project.opened.keyring, "visits")
    secrets = [*secrets_of(project, tmp_path), mac.key.raw, salt]
    assert b"sum(spending) by site" in noted.told
    assert not told_in(bytes(noted.told), secrets)
    whole = read_part(project, replace(part_of(project, "sum(spending) by site"), reads=True))
    pieces = {whole[at : at + 24] for at in range(23, len(of_any_length(whole)) - 24)}
    assert len(pieces) > 1_000
    assert not any(piece in noted.told for piece in pieces if piece.count(0) < 20)


def test_how_long_a_result_is_says_nothing_of_the_rows_that_count(project: Project, tmp_path: Path) -> None:
    lengths = set()
    for text in ("count", "sum(spending) by site", "count where site = 99", "mean(spending) where site = 2"):
        part = replace(part_of(project, text), reads=True, after="[3, 1]", up_to="[9, 2]")
        lengths.add(len(read_part(project, part)))
    assert len(lengths) == 1


def test_a_lost_worker_s_range_counts_once(project: Project, tmp_path: Path) -> None:
    class Loses(ThreadPoolExecutor):
        lost = 0

        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            future = super().submit(run, task)
            if Loses.lost < 3:
                Loses.lost += 1
                future.result()
                future = Future()
                future.set_exception(BrokenExecutor())
            return future

    with Loses(2) as threads:
        found = shared(project, "count", SharedScan(WorkersOf(threads, 2), place(tmp_path), 40))
    assert found == alone(project, "count")

    class Dead(ThreadPoolExecutor):
        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            raise BrokenExecutor

    with Dead(2) as threads, pytest.raises(JobError, match="lost 5 times"):
        shared(project, "count", SharedScan(WorkersOf(threads, 2), place(tmp_path), 40))


def test_a_result_that_was_changed_or_exchanged_is_refused(project: Project, tmp_path: Path) -> None:
    class Swaps(ThreadPoolExecutor):
        first: ScanReport | None = None

        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            def other() -> ScanReport:
                report: ScanReport = run(task)
                Swaps.first = Swaps.first or report
                return Swaps.first

            return super().submit(other)

    with Swaps(1) as threads, pytest.raises(JobError, match="another range of keys"):
        shared(project, "count", SharedScan(WorkersOf(threads, 1), place(tmp_path), 40))


def test_workers_that_read_another_policy_are_found_before_the_charge(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    text = (tmp_path / "noisevault.toml").read_text(encoding="utf-8")
    other.write_text(text.replace("rows_per_unit = 2", "rows_per_unit = 3"), encoding="utf-8")
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger, ThreadPoolExecutor(1) as threads:
        for bad in (CommandPlace.of(other, None), CommandPlace.of(tmp_path / "none.toml", None)):
            scan = SharedScan(WorkersOf(threads, 1), bad)
            with pytest.raises(PolicyError, match="a worker cannot read the rows"):
                answer(project, ledger, "visits", parse("count"), price=dp.Price.pure(10**8), who="ann", shared=scan)
        assert ledger.status("visits").spent == 0


def test_what_goes_wrong_after_the_charge_is_told_in_one_sentence(project: Project, tmp_path: Path) -> None:
    class Fails(ThreadPoolExecutor):
        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            wrong = replace(task, part=replace(task.part, snapshot="no name")) if task.part.reads else task
            return super().submit(run, wrong)

    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger, Fails(1) as threads:
        scan = SharedScan(WorkersOf(threads, 1), place(tmp_path))
        with pytest.raises(dp.DpError, match="charged, not released"):
            answer(project, ledger, "visits", parse("count"), price=dp.Price.pure(10**8), who="ann", shared=scan)


def test_all_workers_read_the_rows_of_one_moment(project: Project, tmp_path: Path) -> None:
    before, raw = alone(project, "count"), raw_table(project.tables["visit"])

    class Meanwhile(ThreadPoolExecutor):
        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            with project.engine.begin() as connection:
                connection.execute(raw.delete())
            return super().submit(run, task)

    with Meanwhile(2) as threads:
        scan = SharedScan(WorkersOf(threads, 2), place(tmp_path), 40)
        assert shared(project, "count", scan) == before
    assert alone(project, "count") != before


def test_groups_that_nobody_declared_are_counted_by_one_process(project: Project, tmp_path: Path) -> None:
    """How long their keys are would show in what travels."""

    path = tmp_path / "noisevault.toml"
    added = 'lifetime_delta = "1e-5"\nunknown.national_id = { delta = "1e-6" }\n'
    path.write_text(path.read_text(encoding="utf-8") + added, encoding="utf-8")
    project = replace(project, policy=Policy.load(path))

    class Never(ThreadPoolExecutor):
        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            raise AssertionError("no worker is asked")

    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger, Never(1) as threads:
        assert list(apply_budgets(ledger, project.policy, reason="a delta is wanted"))
        question = admit(parse("count_units(*) by national_id"), project.policy, "visits")
        price = price_of(project.policy.dataset["visits"], question, 10**9)
        scan = SharedScan(WorkersOf(threads, 1), place(tmp_path))
        released = answer(project, ledger, "visits", question, price=price, who="ann", shared=scan)
    assert (released.atto_delta, released.groups) == (10**12, ())


def test_workers_read_for_each_question_of_a_batch(project: Project, tmp_path: Path) -> None:
    read: set[str] = set()

    class Watched(ThreadPoolExecutor):
        def submit(self, run: Any, task: Any) -> "Future[Any]":  # type: ignore[override]
            if task.part.reads:
                read.add(task.part.question)
            return super().submit(run, task)

    texts = ("count(*)", "count_units(*)")
    prices = {admit(parse(text), project.policy, "visits"): dp.Price.pure(4 * 10**8) for text in texts}
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger, Watched(2) as threads:
        scan = SharedScan(WorkersOf(threads, 2), place(tmp_path), 40)
        first = answers(project, ledger, "visits", prices, atto_delta=0, who="ann", shared=scan)
        assert read == set(texts)
        read.clear()
        assert answers(project, ledger, "visits", prices, atto_delta=0, who="ann", shared=scan) == first
        assert not read, "a repeat reads no row"
        assert ledger.status("visits").spent == 8 * 10**8


def test_processes_answer_every_question(project: Project, tmp_path: Path) -> None:
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger, ProcessPool(2) as pool:
        scan = SharedScan(pool, place(tmp_path), 40)
        for text in QUESTIONS:
            assert all_of(shared(project, text, scan)) == all_of(alone(project, text)), text
        found = answer(project, ledger, "visits", parse("count"), price=dp.Price.pure(10**9), who="ann", shared=scan)
    (count,) = found.groups
    assert abs(count.value - alone(project, "count").totals[0][0]) < 80, "e**-40 is the chance of more noise than that"
    report = scan_part(ScanTask("s", place(tmp_path / "nowhere"), read_part, part_of(project, "count"), b"t" * 16))
    assert report == ScanReport(failure="PolicyError")
