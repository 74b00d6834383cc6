"""A process of the pool: the terminal's Ctrl-C is not for it, and what it does it may end."""

import os
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

from tests.vault.jobs.workers.test_shared_pass import others, until
from vault.jobs.workers.process_pool import ProcessPool
from vault.jobs.workers.worker_process import stop_of_this_process, working


def for_a_while(seconds: float) -> tuple[int, bool]:
    with working():
        stop_of_this_process().wait(seconds)
        return os.getpid(), stop_of_this_process().is_set()


def until_told(folder: Path) -> None:
    """Work for long, and leave a file as it begins and another if it is told to end."""
    with working():
        (folder / "begun").touch()
        if stop_of_this_process().wait(60.0):
            (folder / "told").touch()


def test_ctrl_c_does_not_end_it_and_sigterm_ends_it_when_it_is_at_rest(tmp_path: Path) -> None:
    with ProcessPool(1) as pool:
        pid, _ = pool.submit(for_a_while, 0.01).result()
        os.kill(pid, signal.SIGINT)
        assert pool.submit(for_a_while, 0.01).result() == (pid, False)
        busy = pool.submit(until_told, tmp_path)
        until((tmp_path / "begun").exists)
        os.kill(pid, signal.SIGTERM)
        with suppress(BrokenProcessPool):  # it may be gone before what it returned is sent
            busy.result()
        assert (tmp_path / "told").exists(), "what was in hand was told to end, and ended by itself"
        until(lambda: not others())
        with suppress(BrokenProcessPool):  # the pool may not have noticed yet: then what it was given is lost
            pool.submit(for_a_while, 0.01).result()
        assert pool.submit(for_a_while, 0.01).result()[0] != pid


def test_in_any_other_process_nothing_is_to_end() -> None:
    assert not stop_of_this_process().is_set()
    assert isinstance(stop_of_this_process(), threading.Event)
