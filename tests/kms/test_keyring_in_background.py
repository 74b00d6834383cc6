"""What the thread is for: in normal running nobody who uses a keyring waits for its store or a key service."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event

from kms.errors import CannotUnwrapError, LeaseExpiredError, UnavailableError, UnknownKeyIdError
from kms.key_record import KeyringState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.lease import LeaseSettings
from kms.refresher import RefreshBy
from tests.kms.scripted_provider import ScriptedProvider
from tests.kms.simulated_time import SimulatedTime
from tests.kms.waiting import waits_for

DATA, INDEX, LEDGER = Purpose.DATA, Purpose.INDEX, Purpose.LEDGER
LABEL = "patients.email"
HOUR = 3600


class ForbiddenHereError(Exception):
    """Not one of ours, so nothing lives through it."""


@contextmanager
def forbidden_on_this_thread(store: KeyStore, provider: ScriptedProvider) -> Iterator[list[str]]:
    """No statement to the store and no call of the provider; the calls that others made are counted."""
    caller, calls = threading.get_ident(), []

    def look(what: str) -> None:
        if threading.get_ident() == caller:
            raise ForbiddenHereError(what)
        calls.append(what)

    def statement(*_: object) -> None:
        look("store")

    event.listen(store.engine, "before_cursor_execute", statement)
    event.listen(store.engine, "checkout", statement)
    before, provider.before = provider.before, lambda: look("service")
    try:
        yield calls
    finally:
        event.remove(store.engine, "before_cursor_execute", statement)
        event.remove(store.engine, "checkout", statement)
        provider.before = before


@pytest.fixture
def simulated() -> SimulatedTime:
    return SimulatedTime()


@pytest.fixture
def attended(store: KeyStore, provider: ScriptedProvider, simulated: SimulatedTime) -> Iterator[Keyring]:
    """A warm keyring with its thread, in simulated time."""
    keyring = Keyring.create(store, provider, "main", clock=simulated, refresh=RefreshBy(simulated.bell))
    keyring.warm([LABEL])
    keyring.sealing(DATA)
    yield keyring
    keyring.close()


def use(keyring: Keyring) -> None:
    """What requests do: seal, open and look up, and count the seals."""
    for purpose in Purpose:
        sealing = keyring.sealing(purpose)
        assert keyring.clock() < sealing.until
        lease = keyring.opening_lease(purpose, sealing.key.key_id)
        assert keyring.clock() < lease.until
        keyring.first(purpose)
    keyring.reserve_seals(keyring.sealing(DATA).key.key_id, LABEL, 100)


def test_no_caller_asks_store_or_service_in_twelve_hours_and_over_rotations(
    attended: Keyring, store: KeyStore, provider: ScriptedProvider, simulated: SimulatedTime
) -> None:
    elsewhere = Keyring.open(store, provider, "main", refresh=False)
    use(attended)
    sequences: set[int] = set()
    for hour in range(12):
        if hour % 4 == 3:
            elsewhere.lifecycle.rotate(DATA)
            elsewhere.lifecycle.prepare(INDEX)
        with forbidden_on_this_thread(store, provider) as calls:
            for _ in range(HOUR // 9):
                use(attended)
                sequences.add(attended.sealing(DATA).key.sequence)
                simulated.advance(9)
        # Once in 210 to 270 s, whatever the number of keys (five to eight here); what a rotation made has turns of its
        # own until one of them is near a turn of the others.
        assert 12 <= calls.count("service") <= (2 * 18 if hour % 4 == 3 else 18)
    assert sequences == {1, 2, 3, 4}


def test_no_caller_asks_in_an_outage_of_the_service_until_the_keys_are_gone(
    attended: Keyring, store: KeyStore, provider: ScriptedProvider, simulated: SimulatedTime
) -> None:
    with forbidden_on_this_thread(store, provider):
        provider.fail = UnavailableError("down")
        for _ in range((HOUR - 271) // 9):
            use(attended)
            simulated.advance(9)
        simulated.advance(280)
        with pytest.raises(UnavailableError, match="down"):
            attended.sealing(DATA)
        provider.fail = None
        simulated.advance(6)
        use(attended)


def test_no_caller_asks_in_an_outage_of_the_store_not_even_when_sealing_ended(
    attended: Keyring,
    store: KeyStore,
    provider: ScriptedProvider,
    simulated: SimulatedTime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def down(keyring_id: bytes) -> KeyringState:
        raise UnavailableError("the store is down")

    key = attended.sealing(DATA).key
    with forbidden_on_this_thread(store, provider), monkeypatch.context() as outage:
        outage.setattr(store, "load_again", down)
        begun = simulated()
        while simulated() < begun + 300:
            if simulated() < attended._lease.asked + 180:
                use(attended)
            else:
                with pytest.raises(LeaseExpiredError, match="the store is down"):
                    attended.sealing(DATA)
                assert attended.opening(DATA, key.key_id) == key
            simulated.advance(9)
        outage.undo()
        simulated.advance(6)
        use(attended)


def test_a_refusal_that_the_thread_learns_is_the_callers_at_the_next_use(
    attended: Keyring,
    store: KeyStore,
    provider: ScriptedProvider,
    simulated: SimulatedTime,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = attended.sealing(DATA)
    context = next(r.context for r in attended._lease.state.records if r.key_id == bad.key.key_id)
    provider.refuse[context] = CannotUnwrapError("changed")
    simulated.advance(205)
    while attended._unwrapped.peek(bad.key.key_id) is not None:
        simulated.advance(1)
    with forbidden_on_this_thread(store, provider), pytest.raises(CannotUnwrapError, match="changed"):
        attended.opening(DATA, bad.key.key_id)
    assert bad.until < simulated()
    assert f"key {bad.key.key_id.hex()} of keyring 'main' does not open and is forgotten: changed" in caplog.messages
    attended.sealing(INDEX)


def test_suspension_ends_everything_and_then_it_recovers(
    attended: Keyring, store: KeyStore, provider: ScriptedProvider, simulated: SimulatedTime
) -> None:
    """The thread sleeps on, since its sleep does not count suspension; the callers find out, 32 of them at once."""
    key = attended.sealing(DATA).key
    simulated.jump(2 * HOUR)
    provider.batches.clear()
    provider.fail = UnavailableError("down")
    with pytest.raises(UnavailableError):
        attended.opening(DATA, key.key_id)
    assert attended._unwrapped.peek(key.key_id) is None
    provider.fail = None
    simulated.advance(6)
    provider.batches.clear()
    found: list[object] = []
    together(32, lambda: found.append(attended.sealing(DATA).key))
    assert found == [key] * 32
    assert len(provider.batches) <= 1
    simulated.advance(HOUR)
    use(attended)


def test_a_clock_that_goes_back_an_hour_ends_everything_and_then_it_recovers(
    attended: Keyring, provider: ScriptedProvider, simulated: SimulatedTime
) -> None:
    sealing = attended.sealing(DATA)
    lease = attended.opening_lease(DATA, sealing.key.key_id)
    simulated.jump(-HOUR)
    now = attended.clock()
    assert max(lease.until, sealing.until) < now
    provider.fail = UnavailableError("down")
    with pytest.raises(UnavailableError):
        attended.opening(DATA, sealing.key.key_id)
    provider.fail = None
    simulated.settle()
    simulated.advance(31)
    use(attended)
    held = attended._unwrapped.peek(sealing.key.key_id)
    assert held is not None
    assert held.hard <= simulated() + HOUR
    assert attended._lease.asked <= simulated()


def together(number: int, work: Callable[[], object]) -> None:
    barrier = threading.Barrier(number)

    def run() -> None:
        barrier.wait(20)
        work()

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_however_many_ask_for_an_unknown_id_the_store_is_read_once_and_no_other_id_suffers(
    attended: Keyring, store: KeyStore, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, gate, loads, refused = threading.Event(), threading.Event(), [], []
    load = store.load_again

    def slowly(keyring_id: bytes) -> KeyringState:
        loads.append(threading.get_ident())
        reading.set()
        gate.wait(20)
        return load(keyring_id)

    new = Keyring.open(store, provider, "main", refresh=False).lifecycle.rotate(DATA)
    monkeypatch.setattr(store, "load_again", slowly)

    def ask() -> None:
        try:
            attended.opening(DATA, b"\0\0\0\x09")
        except UnknownKeyIdError as error:
            refused.append(error.key_id)

    waiting = threading.Thread(target=together, args=(32, ask))
    waiting.start()
    assert reading.wait(20)
    gate.set()
    waiting.join()
    assert refused == [b"\0\0\0\x09"] * 32
    assert len(loads) <= 2, "those who came while it was read may share one more, which began after they had asked"
    before = len(loads)
    assert attended.opening(DATA, new.key_id).sequence == 2
    ask()
    assert len(loads) == before


def test_thirty_two_threads_that_need_one_key_make_one_request(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, "main")
    key_id = keyring.records(DATA)[0].key_id
    provider.batches.clear()
    provider.before = lambda: time.sleep(0.05)
    together(32, lambda: keyring.opening(DATA, key_id))
    assert provider.batches == [1]
    keyring.close()


def test_thirty_two_threads_that_need_one_refused_key_make_one_request(
    store: KeyStore, provider: ScriptedProvider
) -> None:
    keyring = Keyring.create(store, provider, "main")
    record = keyring.records(DATA)[0]
    provider.refuse[record.context] = CannotUnwrapError("changed")
    provider.batches.clear()
    provider.before = lambda: time.sleep(0.05)
    refused: list[str] = []

    def ask() -> None:
        try:
            keyring.opening(DATA, record.key_id)
        except CannotUnwrapError as error:
            refused.append(str(error))

    together(32, ask)
    assert refused == ["changed"] * 32
    assert provider.batches == [1]
    keyring.close()


HANGS = 2.5
LONGEST_BLOCK = 2.0  # far more than a loop is away for on a busy machine, and less than one request hangs


def test_a_provider_that_hangs_blocks_no_event_loop(store: KeyStore, provider: ScriptedProvider) -> None:
    """Real time: the keys are due after half a second, and each request takes long before it fails."""
    leases = LeaseSettings(sealing=60, unwrapped_soft=0.5, unwrapped_hard=60)
    keyring = Keyring.create(store, provider, "main", leases=leases)
    hung: list[int] = []

    def hang() -> None:
        hung.append(threading.get_ident())
        time.sleep(HANGS)
        raise UnavailableError("timed out")

    async def serve() -> float:
        await keyring.warm_async()
        provider.before = hang
        longest, seals, last = 0.0, 0, time.monotonic()
        end = last + 3.4
        while last < end:
            for _ in range(20):
                keyring.opening(INDEX, keyring.sealing(INDEX).key.key_id)
                seals += 1
            await asyncio.sleep(0.002)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        assert seals > 100
        return longest

    longest = asyncio.run(serve())
    keyring.close()
    assert hung, "the service was asked all the while"
    assert threading.get_ident() not in hung
    assert longest < LONGEST_BLOCK


def test_warming_leaves_the_loop_to_others(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, "main", refresh=False)
    gate = threading.Event()
    provider.before = waits_for(gate)

    async def serve() -> frozenset[bytes]:
        warming = asyncio.create_task(keyring.warm_async([LABEL]))
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert not warming.done()
        gate.set()
        return await warming

    assert len(asyncio.run(serve())) == 3
    assert keyring.seal_counts() == {(keyring.sealing(DATA).key.key_id, LABEL): 4096}
