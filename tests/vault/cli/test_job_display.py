import io
import json

from rich.console import Console

from vault.cli.job_display import NAMED_ROWS, job_display
from vault.jobs.events import Advanced, Began, Ended, Event, Held, Proved, RowFailed, RowLeft, Waiting

EVENTS: list[Event] = [
    Began("reencrypt", "visit", 4, resumed=True, number=2, seen=1),
    Advanced("reencrypt", "visit", 2, 2, 4, 1, 0, 0, 1.0, 2.0),
    RowFailed("reencrypt", "visit", "[9, 1]", "diagnosis", "does not open"),
    RowFailed("reencrypt", "visit", "[9, 1]", "diagnosis", "does not open"),
    Waiting("reencrypt", "visit", "the database does not answer (OperationalError)", 119.6),
    Held("reencrypt", "visit", paused=True),
    Held("reencrypt", "visit", paused=False),
    Proved("reencrypt", "visit", 1, 1, (("diagnosis", "under key aabbccdd", 1),)),
    RowLeft("reencrypt", "visit", "[4, 1]", "locked by somebody else"),
    Ended("reencrypt", "visit", "incomplete", 3, 0, 1, 0),
]


def shown(events: list[Event], *, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=150, color_system=None)
    with job_display(console) as notify:
        for event in events:
            notify(event)
    return out.getvalue()


def test_in_a_file_there_are_lines_and_no_bar() -> None:
    assert shown(EVENTS, terminal=False).splitlines() == [
        "visit: goes on where it stopped, pass 2, after 1 rows",
        "  visit [9, 1] diagnosis: does not open; left as it is",
        "visit: the database does not answer (OperationalError); waiting, 120 s at most",
        "visit: paused; go on by: noisevault jobs resume visit",
        "visit: goes on",
        "  visit [4, 1]: locked by somebody else; left for another run",
    ]


def test_on_a_terminal_there_is_a_bar_with_rate_and_time_left() -> None:
    told = shown(EVENTS, terminal=True)
    assert "reencrypt visit" in told
    assert "2/4 rows, 1 a second," in told
    assert "does not open; left as it is" in told


def test_rows_without_number_are_not_all_named() -> None:
    many: list[Event] = [RowFailed("reencrypt", "visit", f"[{at}]", "x", "does not open") for at in range(1000)]
    lines = shown([EVENTS[0], *many], terminal=False).splitlines()
    assert len(lines) == 1 + NAMED_ROWS + 1
    assert lines[-1].endswith("all by: noisevault jobs failed")


def test_for_a_machine_every_event_is_a_line(capsys: object) -> None:
    with job_display(Console(), as_lines_of_json=True) as notify:
        for event in EVENTS:
            notify(event)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]  # type: ignore[attr-defined]
    assert [one["event"] for one in told][:3] == ["began", "advanced", "row-failed"]
    assert len(told) == len(EVENTS)
