"""The life of keys as a machine: two processes with clocks of their own do anything in any order while time passes."""

import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from kms.errors import KeyDestroyedError, KeyRetiredError, KeyringClosedError, KeyringError
from kms.key_record import KeyState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.lease import LeaseSettings
from kms.secret import SecretKey
from tests.kms.manual_clock import ManualClock
from tests.kms.rested import let_time_pass
from tests.kms.scripted_provider import ScriptedProvider
from tests.sizes import sized

DATA = Purpose.DATA
LEASES = LeaseSettings()
LEASE = timedelta(seconds=LEASES.sealing)
# Moments near which something ends: a lease, a soft lease, a week, a month.
steps = st.sampled_from([1, 59, 121, 179, 180, 181, 301, 3600, 86_400, 6 * 86_400, 7 * 86_400, 30 * 86_400])
wrong_by = st.sampled_from([timedelta(0), timedelta(seconds=90), timedelta(days=-40), timedelta(days=40)])
processes = st.integers(0, 1)
IN_MEMORY = Path("/dev/shm")  # where a commit does not wait for the disk


@dataclass
class Known:
    """What the test knows of one key, by the time that really passed."""

    secret: SecretKey | None = None
    sealed_at: timedelta | None = None
    stopped_at: timedelta | None = None
    retired_at: timedelta | None = None
    wait: timedelta = timedelta(0)
    destroyed: bool = False


@dataclass
class Process:
    store: KeyStore
    keyring: Keyring = field(init=False)


class KeyLife(RuleBasedStateMachine):
    """Rows go into the past as time passes, so that the clocks that count are the real ones."""

    keys = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None)
        self.clock = ManualClock()
        self.passed = timedelta(0)
        self.known: dict[bytes, Known] = {}
        self.ids: list[bytes] = []

    @initialize(target=keys, wrong=st.tuples(wrong_by, wrong_by))
    def create(self, wrong: tuple[timedelta, timedelta]) -> object:
        url = f"sqlite:///{Path(self.folder.name) / 'keys.db'}"
        self.processes = [self.process(url, by) for by in wrong]
        self.processes[0].store.create_schema()
        provider = ScriptedProvider()
        self.processes[0].keyring = Keyring.create(self.processes[0].store, provider, "main", clock=self.clock)
        self.processes[1].keyring = Keyring.open(self.processes[1].store, provider, "main", clock=self.clock)
        self.observer = KeyStore.from_url(url)
        return multiple(*(record.key_id for record in self.observer.load("main").of(DATA)))

    @staticmethod
    def process(url: str, wrong: timedelta) -> Process:
        return Process(KeyStore(KeyStore.from_url(url).engine, now=lambda: datetime.now(UTC) + wrong))

    def teardown(self) -> None:
        for store in (*(p.store for p in getattr(self, "processes", [])), getattr(self, "observer", None)):
            if store is not None:
                store.close()
        self.folder.cleanup()

    def stop(self, key_id: bytes | None) -> None:
        if key_id is not None:
            self.known.setdefault(key_id, Known()).stopped_at = self.passed

    def active(self) -> bytes | None:
        found = self.observer.load("main").active(DATA)
        return None if found is None else found.key_id

    @rule(target=keys, who=processes)
    def rotate(self, who: int) -> bytes:
        before = self.active()
        new = self.processes[who].keyring.lifecycle.rotate(DATA).key_id
        assert new != before
        assert self.active() == new
        self.stop(before)
        return new

    @rule(target=keys, who=processes)
    def prepare(self, who: int) -> bytes:
        return self.processes[who].keyring.lifecycle.prepare(DATA).key_id

    @rule(who=processes, key=keys)
    def deactivate(self, who: int, key: bytes) -> None:
        before = self.active()
        try:
            self.processes[who].keyring.lifecycle.deactivate(key)
        except KeyringError:
            assert before != key
        else:
            assert before == key
            self.stop(key)

    @rule(who=processes, key=keys, days=st.sampled_from([7, 30]))
    def retire(self, who: int, key: bytes, days: int) -> None:
        before = self.observer.load("main").find(key)
        try:
            self.processes[who].keyring.lifecycle.retire(key, timedelta(days=days))
        except KeyringError:
            return
        known = self.known.setdefault(key, Known())
        assert before is not None
        assert before.state in {KeyState.PRE_ACTIVE, KeyState.DEACTIVATED}
        if known.stopped_at is not None:
            assert self.passed >= known.stopped_at + LEASE, "somebody may seal with it still"
        else:
            assert known.sealed_at is None
        known.retired_at, known.wait = self.passed, timedelta(days=days)

    @rule(who=processes, key=keys)
    def restore(self, who: int, key: bytes) -> None:
        known = self.known.setdefault(key, Known())
        try:
            self.processes[who].keyring.lifecycle.restore(key)
        except KeyringError:
            assert known.retired_at is None or known.destroyed
        else:
            assert known.retired_at is not None
            assert not known.destroyed
            known.retired_at = None

    @rule(who=processes, key=keys)
    def destroy(self, who: int, key: bytes) -> None:
        known = self.known.setdefault(key, Known())
        try:
            self.processes[who].keyring.lifecycle.destroy(key)
        except KeyringError:
            return
        assert known.retired_at is not None
        assert self.passed >= known.retired_at + known.wait, "backups may need it still"
        known.destroyed = True

    @rule(who=processes)
    def seal(self, who: int) -> None:
        try:
            key = self.processes[who].keyring.sealing(DATA).key
        except KeyringClosedError:
            return
        known = self.known.setdefault(key.key_id, Known())
        assert known.retired_at is None
        assert known.stopped_at is None or self.passed < known.stopped_at + LEASE
        assert known.secret is None or known.secret == key.secret
        known.secret, known.sealed_at = key.secret, self.passed

    @rule(seconds=steps)
    def time_passes(self, seconds: int) -> None:
        self.passed += timedelta(seconds=seconds)
        self.clock.advance(seconds)
        let_time_pass(self.observer.engine, timedelta(seconds=seconds))

    @invariant()
    def at_most_one_key_is_active(self) -> None:
        if hasattr(self, "observer"):
            records = self.observer.load("main").records
            for purpose in Purpose:
                assert sum(r.state is KeyState.ACTIVE and r.purpose is purpose for r in records) <= 1

    @invariant()
    def no_id_is_given_twice_and_none_vanishes(self) -> None:
        if hasattr(self, "observer"):
            ids = [record.key_id for record in self.observer.load("main").records]
            assert len(ids) == len(set(ids))
            assert set(self.ids) <= set(ids)
            self.ids = ids

    @invariant()
    def a_destroyed_key_never_comes_back(self) -> None:
        for key_id in (key_id for key_id, known in self.known.items() if known.destroyed):
            record = self.observer.load("main").find(key_id)
            assert record is not None
            assert (record.state, record.wrapped) == (KeyState.DESTROYED, None)

    @invariant()
    def what_was_sealed_opens_but_for_retired_and_destroyed_keys(self) -> None:
        sealed = {key_id: known for key_id, known in self.known.items() if known.secret is not None}
        for process in self.processes if sealed else []:
            process.keyring.records()  # reads the store
            for key_id, known in sealed.items():
                try:
                    assert process.keyring.opening(DATA, key_id).secret == known.secret
                except KeyDestroyedError:
                    assert known.destroyed
                except KeyRetiredError:
                    assert known.retired_at is not None
                    assert not known.destroyed
                else:
                    assert known.retired_at is None


KeyLife.TestCase.settings = settings(
    max_examples=sized(12, 1000),
    stateful_step_count=sized(30, 80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestKeyLife = KeyLife.TestCase
