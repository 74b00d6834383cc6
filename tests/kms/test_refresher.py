"""The thread: begun at the first use, ended with the keyring, harmless to forks and to the interpreter's end."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from kms.errors import KeyringError, UnavailableError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.refresher import RefreshBell, RefreshBy, Refresher
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider
from tests.kms.simulated_time import SimulatedTime
from tests.kms.waiting import waits_for

DATA = Purpose.DATA
NAME = "attended"
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("error::DeprecationWarning")  # a fork beside a thread gives one since 3.12


class Work:
    """Counts its steps; each may be told what to do."""

    def __init__(self, pause: float = 60.0) -> None:
        self.steps = 0
        self.pause = pause
        self.before: Callable[[], object] = lambda: None

    def step(self) -> float:
        self.steps += 1
        self.before()
        return self.pause


def until(happened: Callable[[], object], within: float = 20) -> None:
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def threads() -> list[str]:
    """Those of this module's keyrings, by their name; another test's keyring may live as long as its module."""
    return [thread.name for thread in threading.enumerate() if thread.name == f"noisevault refresh {NAME}"]


def test_it_steps_after_each_pause_and_when_it_is_rung() -> None:
    work = Work(pause=0.001)
    refresher = Refresher(work.step, NAME)
    assert work.steps == 0
    assert refresher.attending()
    until(lambda: work.steps > 3)
    work.pause = 60
    time.sleep(0.05)
    before = work.steps
    refresher.ring()
    until(lambda: work.steps > before)
    refresher.close()
    until(lambda: not threads())
    assert not refresher.attending()


def test_rings_do_not_pile_up_and_one_while_working_is_heard() -> None:
    bell = RefreshBell()
    for _ in range(1000):
        bell.ring()
    begun = time.monotonic()
    bell.wait(60)
    bell.wait(0.01)
    assert time.monotonic() - begun < 30
    bell.ring()
    bell.wait(60)


def test_a_step_that_fails_ends_it_and_is_told_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    work = Work()

    def fail() -> None:
        raise ZeroDivisionError("hunter2")

    work.before = fail
    refresher = Refresher(work.step, NAME)
    refresher.begin()
    until(lambda: not threads())
    assert not refresher.attending()
    assert "ZeroDivisionError" in caplog.text
    assert "hunter2" not in caplog.text
    assert work.steps == 1, "it is not begun again"


def test_it_ends_when_its_object_is_collected() -> None:
    work = Work()
    refresher = Refresher(work.step, NAME)
    refresher.begin()
    until(threads)
    gone = weakref.ref(work)
    del work
    gc.collect()
    until(lambda: not threads())
    assert gone() is None
    assert not refresher.attending()


def test_a_keyring_that_was_only_opened_and_closed_had_no_thread(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, NAME)
    keyring.records()
    keyring.seal_counts()
    keyring.lifecycle.check()
    keyring.lifecycle.rotate(DATA)
    assert threads() == []
    keyring.close()
    assert threads() == []


@pytest.mark.parametrize("use", ["sealing", "opening", "warm"])
def test_the_first_use_begins_one_thread(store: KeyStore, provider: ScriptedProvider, use: str) -> None:
    keyring = Keyring.create(store, provider, NAME)
    key_id = keyring.records(DATA)[0].key_id
    for _ in range(3):
        {"sealing": lambda: keyring.sealing(DATA), "opening": lambda: keyring.opening(DATA, key_id)}.get(
            use, keyring.warm
        )()
    assert threads() == [f"noisevault refresh {NAME}"]
    keyring.close()
    until(lambda: not threads())


def test_a_keyring_without_refresh_has_no_thread(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, NAME, refresh=False)
    keyring.warm()
    keyring.sealing(DATA)
    assert threads() == []


def test_a_keyring_that_nobody_has_any_more_ends_its_thread(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, NAME)
    keyring.warm()
    until(threads)
    gone = weakref.ref(keyring)
    del keyring
    gc.collect()
    until(lambda: not threads())
    assert gone() is None


def test_a_closed_keyring_holds_and_gives_nothing(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, NAME)
    sealing = keyring.sealing(DATA)
    lease = keyring.opening_lease(DATA, sealing.key.key_id)
    keyring.close()
    keyring.close()
    assert max(sealing.until, lease.until) < keyring.clock()
    assert keyring._unwrapped.all_held() == []
    for use in (
        lambda: keyring.sealing(DATA),
        lambda: keyring.opening(DATA, sealing.key.key_id),
        keyring.warm,
        keyring.records,
    ):
        with pytest.raises(KeyringError, match="closed: open it again"):
            use()
    until(lambda: not threads())


def test_an_answer_that_comes_after_the_close_is_not_kept(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, NAME, refresh=False)
    asking, gate = threading.Event(), threading.Event()
    provider.before = waits_for(gate, asking)
    refused: list[str] = []

    def warm() -> None:
        try:
            keyring.warm()
        except KeyringError as error:
            refused.append(str(error))

    thread = threading.Thread(target=warm)
    thread.start()
    assert asking.wait(10)
    keyring.close()
    gate.set()
    thread.join()
    assert len(refused) == 1
    assert keyring._unwrapped.all_held() == []


def test_where_the_thread_died_the_caller_refreshes(store: KeyStore, provider: ScriptedProvider) -> None:
    clock = ManualClock()
    keyring = Keyring.create(store, provider, NAME, clock=clock, refresh=RefreshBy(_BrokenBell))
    keyring.warm()
    until(lambda: not threads())
    provider.batches.clear()
    clock.advance(300)
    keyring.sealing(DATA)
    assert provider.batches == [3]
    assert keyring._lease.asked == clock()


class _BrokenBell:
    def ring(self) -> None:
        pass

    def wait(self, seconds: float) -> None:
        raise ZeroDivisionError


def in_a_child(work: Callable[[], bool]) -> bool:
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = work()
        finally:
            os._exit(0 if good else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_child_has_a_thread_when_it_uses_the_keyring_and_the_parent_keeps_one(
    store: KeyStore, provider: ScriptedProvider
) -> None:
    keyring = Keyring.create(store, provider, NAME)
    key_id = keyring.sealing(DATA).key.key_id
    until(threads)

    def child() -> bool:
        before = threads()
        used = keyring.sealing(DATA).key.key_id == key_id
        return before == [] and used and threads() == [f"noisevault refresh {NAME}"]

    assert in_a_child(child)
    assert threads() == [f"noisevault refresh {NAME}"], "it is begun again without waiting for a use"
    keyring.close()


def test_a_fork_does_not_wait_for_ever_for_a_request_that_hangs() -> None:
    work, gate, asking = Work(), threading.Event(), threading.Event()
    work.before = waits_for(gate, asking)
    refresher = Refresher(work.step, NAME)
    refresher.begin()
    assert asking.wait(10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kms.refresher.FORK_WAITS_SECONDS", 0.05)
        refresher._let_go()  # what runs before a fork
    assert threads() == [f"noisevault refresh {NAME}"]
    refresher._take_up()
    gate.set()
    until(lambda: work.steps >= 2)
    until(lambda: len(threads()) == 1)
    refresher.close()


PROGRAM = """
    import sys, time
    from kms import Keyring, KeyStore, Purpose
    from kms.errors import UnavailableError
    from tests.kms.scripted_provider import ScriptedProvider

    store = KeyStore.from_url(sys.argv[1])
    store.create_schema()
    provider = ScriptedProvider()
    keyring = Keyring.create(store, provider, "main")
    keyring.sealing(Purpose.DATA)
    step = keyring._refresh.step
    def hang():
        time.sleep(60)
    if sys.argv[2] == "hanging":
        provider.before = hang
        keyring._unwrapped._held.clear()
        keyring._unwrapped.wanted.update(r.key_id for r in keyring.records())
        keyring._refresher.ring()
        time.sleep(0.2)
    store.close()
    print("done")
"""


@pytest.mark.parametrize("state", ["idle", "hanging"])
def test_the_interpreter_ends_quietly_and_at_once(tmp_path: Path, state: str) -> None:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM), f"sqlite:///{tmp_path / 'k.db'}", state]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    begun = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, env=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
    assert time.monotonic() - begun < 40


def test_a_refresh_that_hangs_counts_as_unavailable(store: KeyStore, provider: ScriptedProvider) -> None:
    """The keys are used as they are, by callers that do not wait, until the hard lease; then they are gone."""
    clock = SimulatedTime()
    keyring = Keyring.create(store, provider, NAME, clock=clock, refresh=RefreshBy(clock.bell))
    keyring._unwrapped._patience = 0.05
    keyring.warm()
    key = keyring.sealing(DATA).key
    clock.settle()
    asking, gate = threading.Event(), threading.Event()
    provider.before = waits_for(gate, asking)
    clock.jump(280)
    clock.ring()
    assert asking.wait(20)
    for _ in range(33):
        clock.jump(100)
        assert keyring.opening(DATA, key.key_id) == key
        assert keyring.sealing(DATA).key == key
    clock.jump(100)
    for _ in range(2):
        with pytest.raises(UnavailableError, match="has not answered"):
            keyring.opening(DATA, key.key_id)
    provider.before = lambda: None
    gate.set()
    clock.settle()
    assert keyring.opening(DATA, key.key_id) == key
    keyring.close()
