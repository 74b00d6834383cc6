"""A keyring on a real OpenBao: how often it is asked, as its own audit log says."""

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kms.errors import AccessDeniedError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import Transit, transit_on
from tests.servers.openbao import BaoDev, bao_dev

pytestmark = pytest.mark.openbao
DATA = Purpose.DATA
WORKERS, THREADS, KEYS = 4, 32, 100


@pytest.fixture(scope="module")
def audited_bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaoDev]:
    with bao_dev(tmp_path_factory.mktemp("bao"), audited=True) as server:
        yield server


@pytest.fixture
def transit(audited_bao: BaoDev) -> Iterator[Transit]:
    with transit_on(audited_bao, f"t{secrets.token_hex(4)}") as transit:
        transit.create()
        yield transit


def decrypts(transit: Transit) -> list[int]:
    """The remote port of each decrypt request so far: the connection, so the process, that it came from."""
    return [request["remote_port"] for request in transit.server.requests(f"{transit.mount}/decrypt/kek")]


def with_keys(store: KeyStore, transit: Transit, number: int) -> None:
    keyring = Keyring.create(store, transit.provider(), "main", refresh=False)
    for _ in range(number - len(Purpose)):
        keyring.lifecycle.prepare(DATA)


def test_a_keyring_of_a_hundred_keys_is_opened_by_one_request(store: KeyStore, transit: Transit) -> None:
    with_keys(store, transit, KEYS)
    before = len(decrypts(transit))
    keyring = Keyring.open(store, transit.provider(), "main")
    assert len(decrypts(transit)) == before
    assert len(keyring.warm()) == KEYS
    for record in keyring.records():
        assert keyring.opening(record.purpose, record.key_id).key_id == record.key_id
        keyring.sealing(record.purpose)
    assert len(decrypts(transit)) == before + 1
    keyring.close()


def test_without_warming_only_the_key_that_is_asked_for_is_unwrapped(store: KeyStore, transit: Transit) -> None:
    with_keys(store, transit, 10)
    before = len(decrypts(transit))
    keyring = Keyring.open(store, transit.provider(), "main")
    key_id = keyring.records(DATA)[3].key_id
    keyring.opening(DATA, key_id)
    keyring._refresh.step()
    assert {held.key.key_id for held in keyring._unwrapped.all_held()} == {key_id}
    assert len(decrypts(transit)) == before + 1
    keyring.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("parent", ["opened nothing", "opened", "warmed"])
def test_four_forked_workers_of_thirty_two_threads_make_one_request_each(
    any_store: KeyStore, transit: Transit, tmp_path: Path, parent: str
) -> None:
    """They open the same keyring at once, on connections of their own; a parent's connection is not used by a child."""
    with_keys(any_store, transit, 12)
    provider = transit.provider()
    keyring = Keyring.open(any_store, provider, "main")
    if parent == "warmed":
        keyring.warm()
    before = decrypts(transit)

    def in_worker() -> Keyring:
        return Keyring.open(any_store, provider, "main") if parent == "opened nothing" else keyring

    start = tmp_path / "start"
    os.mkfifo(start)
    workers = [pid for _ in range(WORKERS) if (pid := _worker(in_worker, start))]
    with start.open("w"):  # all wait for this
        statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
    assert statuses == [0] * WORKERS
    asked = decrypts(transit)[len(before) :]
    assert len(asked) == WORKERS
    assert len(set(asked)) == WORKERS
    assert not set(asked) & set(before)
    assert len(keyring.warm()) == 12
    assert len(decrypts(transit)) == len(before) + WORKERS + (parent != "warmed")
    keyring.close()


def _worker(opened: Callable[[], Keyring], start: Path) -> int:
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)  # what hangs is to fail
        status = 1
        try:
            status = 0 if _used_by_all_threads(opened, start) else 2
        finally:
            os._exit(status)
    return pid


def _used_by_all_threads(opened: Callable[[], Keyring], start: Path) -> bool:
    good: list[bool] = []
    with start.open():
        pass
    keyring = opened()

    def use() -> None:
        number = len(keyring.warm())
        sealing = keyring.sealing(DATA).key
        good.append(number == 12 and keyring.opening(DATA, sealing.key_id) == sealing)

    threads = [threading.Thread(target=use) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return good == [True] * THREADS


def test_a_refused_key_is_asked_for_once_in_five_seconds_whoever_asks(store: KeyStore, transit: Transit) -> None:
    with_keys(store, transit, 5)
    token = transit.token(("decrypt/other", "update"))
    clock = ManualClock()
    keyring = Keyring.open(store, transit.provider(token=token), "main", clock=clock, refresh=False)
    first, second = keyring.records(DATA)[:2]

    def refused(key_id: bytes) -> int:
        before = len(decrypts(transit))
        for _ in range(10):
            with pytest.raises(AccessDeniedError):
                keyring.opening(DATA, key_id)
        return len(decrypts(transit)) - before

    once = refused(first.key_id)
    assert 1 <= once <= 2, "a login that may be stale is renewed once"
    assert refused(first.key_id) == 0
    assert refused(second.key_id) == once
    clock.advance(5)
    assert refused(first.key_id) == once
