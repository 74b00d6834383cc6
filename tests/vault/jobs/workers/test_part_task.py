"""What is sent to a worker."""

import pickle

from vault.jobs.engine import JobSettings
from vault.jobs.job_store import JobName
from vault.jobs.parts import Part
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.workers.part_task import PartReport, PartTask

PART = Part(JobName("reencrypt", "visit", "p"), 0, '[{"uuid": "00000000-0000-0000-0000-00000000000a"}, 3]', None)


def test_it_arrives_as_it_was_sent() -> None:
    task = PartTask("s", None, JobSettings(), JobName("reencrypt", "visit"), "r", "m", "g", PART, 10)  # type: ignore[arg-type]
    again: PartTask = pickle.loads(pickle.dumps(task))
    assert again == task
    assert isinstance(again.part.key_range, KeyRange)
    after = again.part.key_range.after
    assert after is not None
    assert (str(after[0]), after[1]) == ("00000000-0000-0000-0000-00000000000a", 3)
    report = PartReport(waited=(("away", 3.0),))
    assert pickle.loads(pickle.dumps(report)) == report
