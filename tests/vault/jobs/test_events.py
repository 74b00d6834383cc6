import json

from vault.jobs.events import Advanced, Began, Ended, Held, Proved, RowFailed, RowLeft, Waiting, as_json

EVENTS = [
    Began("reencrypt", "t", 10),
    Advanced("reencrypt", "t", 1, 5, 10, 5, 0, 0, 2.5, 2.0),
    RowFailed("reencrypt", "t", "[9, 1]", "body", "does not open"),
    RowLeft("reencrypt", "t", "[4, 1]", "locked by somebody else"),
    Waiting("reencrypt", "t", "the database does not answer", 3.0),
    Held("reencrypt", "t", paused=True),
    Proved("reencrypt", "t", 1, 1, (("body", "under key aabbccdd", 1),)),
    Ended("reencrypt", "t", "incomplete", 9, 0, 1, 0),
]


def test_every_event_is_one_line_of_json_that_names_its_kind_its_job_and_its_table() -> None:
    kinds = []
    for event in EVENTS:
        told = json.loads(json.dumps(as_json(event)))
        assert (told["job"], told["table"]) == ("reencrypt", "t")
        kinds.append(told["event"])
    assert kinds == ["began", "advanced", "row-failed", "row-left", "waiting", "held", "proved", "ended"]
