"""What is put around the jobs of every command, and is gone afterwards."""

import gc
import io
import os
import signal

from rich.console import Console

from vault.cli.running_jobs import running_jobs
from vault.jobs.collector import OBJECTS
from vault.jobs.events import Waiting


def test_signals_events_and_the_collector_are_seen_to_within_and_as_before_afterwards() -> None:
    threshold, handler, said = gc.get_threshold(), signal.getsignal(signal.SIGTERM), io.StringIO()
    with running_jobs(Console(file=said)) as around:
        assert gc.get_threshold()[0] == OBJECTS
        around.notify(Waiting("reencrypt", "visit", "the key service does not answer", 5))
        os.kill(os.getpid(), signal.SIGTERM)
        assert around.stop.wait(5)
    assert "visit: the key service does not answer" in said.getvalue()
    assert (gc.get_threshold(), signal.getsignal(signal.SIGTERM)) == (threshold, handler)


def test_events_may_be_lines_of_json(capsys: object) -> None:
    with running_jobs(Console(), as_lines_of_json=True) as around:
        around.notify(Waiting("reencrypt", "visit", "the key service does not answer", 5))
    assert '"event": "waiting"' in capsys.readouterr().out  # type: ignore[attr-defined]
