"""A run: in order, one failure apart from the others, nothing begun that would not end, everything written down."""

import threading
import time
from collections.abc import Callable

import pytest
from sqlalchemy.exc import OperationalError

from kms import UnavailableError
from vault.errors import JobRunningError
from vault.maintenance.records import MaintenanceRecords
from vault.maintenance.run import Done, MaintenanceRun, failed_result
from vault.maintenance.step import Outcome, Result, Step, Task
from vault.maintenance.window import Window

ENDLESS = Window(None, 0.0)


def task(step: Step, run: Callable[[threading.Event], Result], seconds: float = 0, *, resumes: bool = False) -> Task:
    return Task(step, "t", "it is", run, seconds, resumes)


def well(_stop: threading.Event) -> Result:
    return Result(Outcome.DONE, "well")


def fails(_stop: threading.Event) -> Result:
    raise UnavailableError("the key service does not answer")


def outcomes(ended: list[Done]) -> list[tuple[Step, Outcome]]:
    return [(one.step, one.result.outcome) for one in ended]


def test_a_step_that_fails_does_not_keep_the_next_from_being_done(local_records: MaintenanceRecords) -> None:
    told: list[Done] = []
    looks = {
        step: (lambda s=step: [task(s, fails if s is Step.REWRAP else well)]) for step in (Step.REWRAP, Step.VERIFY)
    }
    ended = MaintenanceRun(local_records, ENDLESS, told.append).run(looks)
    assert outcomes(ended) == [(Step.REWRAP, Outcome.FAILED), (Step.VERIFY, Outcome.DONE)]
    assert told == ended
    recorded = local_records.read()
    assert recorded[Step.REWRAP, "t"].failures == 1
    assert recorded[Step.VERIFY, "t"].succeeded_at is not None


def test_a_look_is_taken_when_the_steps_before_it_are_done(local_records: MaintenanceRecords) -> None:
    done: list[str] = []

    def rotate(_stop: threading.Event) -> Result:
        done.append("rotated")
        return Result(Outcome.DONE, "")

    def look() -> list[Task]:
        done.append("looked")
        return []

    MaintenanceRun(local_records, ENDLESS, lambda _: None).run(
        {Step.ROTATE: lambda: [task(Step.ROTATE, rotate)], Step.REENCRYPT: look}
    )
    assert done == ["rotated", "looked"]


def test_a_look_that_failed_is_a_failure_until_it_goes_well(local_records: MaintenanceRecords) -> None:
    def away() -> list[Task]:
        raise UnavailableError("away")

    run = MaintenanceRun(local_records, ENDLESS, lambda _: None)
    assert outcomes(run.run({Step.REWRAP: away})) == [(Step.REWRAP, Outcome.FAILED)]
    assert local_records.read()[Step.REWRAP, ""].outcome is Outcome.FAILED
    assert run.run({Step.REWRAP: list}) == []
    assert local_records.read()[Step.REWRAP, ""].outcome is Outcome.DONE


def test_what_would_not_end_in_the_window_is_not_begun(local_records: MaintenanceRecords) -> None:
    begun: list[str] = []

    def begin(_stop: threading.Event) -> Result:
        begun.append("begun")
        return Result(Outcome.DONE, "")

    run = MaintenanceRun(local_records, Window(100.0, 0.0), lambda _: None, clock=lambda: 50.0)
    (ended,) = run.run({Step.VERIFY: lambda: [task(Step.VERIFY, begin, 51)]})
    assert (ended.result.outcome, begun) == (Outcome.POSTPONED, [])
    assert "51 s" in ended.result.told
    assert local_records.read() == {}, "nothing was run"


def test_at_the_end_of_the_window_what_runs_is_asked_to_stop_and_nothing_more_is_begun(
    local_records: MaintenanceRecords,
) -> None:
    def until_stopped(stop: threading.Event) -> Result:
        assert stop.wait(30)
        return Result(Outcome.STOPPED, "after its batch")

    run = MaintenanceRun(local_records, Window(2.0, time.monotonic()), lambda _: None)
    ended = run.run(
        {
            Step.REENCRYPT: lambda: [task(Step.REENCRYPT, until_stopped, 9, resumes=True)],
            Step.VERIFY: lambda: [task(Step.VERIFY, well)],
        }
    )
    assert outcomes(ended) == [(Step.REENCRYPT, Outcome.STOPPED)]


def test_what_another_process_runs_is_waited_for_and_no_failure(local_records: MaintenanceRecords) -> None:
    def busy(_stop: threading.Event) -> Result:
        raise JobRunningError("reencrypt", "t")

    ended = MaintenanceRun(local_records, ENDLESS, lambda _: None).run(
        {Step.REENCRYPT: lambda: [task(Step.REENCRYPT, busy)]}
    )
    assert outcomes(ended) == [(Step.REENCRYPT, Outcome.WAITING)]
    assert local_records.read()[Step.REENCRYPT, "t"].failures == 0


def test_a_run_that_has_lost_its_turn_does_nothing_more(local_records: MaintenanceRecords) -> None:
    def lost() -> bool:
        raise JobRunningError("maintain", "*")

    with pytest.raises(JobRunningError):
        MaintenanceRun(local_records, ENDLESS, lambda _: None, is_lost=lost).run(
            {Step.ROTATE: lambda: [task(Step.ROTATE, fails)]}
        )
    assert local_records.read() == {}


@pytest.mark.parametrize("taken_over", [False, True])
def test_what_runs_is_asked_to_stop_when_an_operator_wishes_it_or_another_took_the_turn(
    local_records: MaintenanceRecords, taken_over: bool
) -> None:
    working = threading.Event()

    def lost() -> bool:
        if working.is_set() and taken_over:
            raise JobRunningError("maintain", "*")
        return working.is_set()

    def until_stopped(stop: threading.Event) -> Result:
        working.set()
        assert stop.wait(30)
        working.clear()
        return Result(Outcome.STOPPED, "after its batch")

    run = MaintenanceRun(local_records, ENDLESS, lambda _: None, is_lost=lost)
    ended = run.run(
        {Step.REENCRYPT: lambda: [task(Step.REENCRYPT, until_stopped)], Step.VERIFY: lambda: [task(Step.VERIFY, well)]}
    )
    assert outcomes(ended) == [(Step.REENCRYPT, Outcome.STOPPED)]


def test_what_a_driver_says_is_not_told() -> None:
    said = failed_result(OperationalError("INSERT", {"diagnosis": "s3cr3t"}, Exception("row (s3cr3t)")))
    assert "s3cr3t" not in said.told
    assert "OperationalError" in said.told
