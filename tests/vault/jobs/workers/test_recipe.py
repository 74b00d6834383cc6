"""A supply makes a job for each part, since none is shared by threads."""

import threading

from sqlalchemy import create_engine

from tests.vault.jobs.plain_work import Capitals
from vault.jobs.engine import Job, JobSettings
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.workers.recipe import Given, Supply


def test_each_part_has_a_work_and_what_it_was_given() -> None:
    given = Given(JobSettings(passes=3), KeyRange((1,), None), lambda _: None, threading.Event())
    supply = Supply.of_work(create_engine("sqlite://"), Capitals)
    first, second = supply.job(given), supply.job(given)
    assert isinstance(first, Job)
    assert isinstance(second, Job)
    assert first.work is not second.work
    assert (first.settings, first.key_range, first.stop) == (given.settings, given.key_range, given.stop)
