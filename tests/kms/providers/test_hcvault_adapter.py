"""A request ends within its timeout as a whole, and a call by its deadline, whatever the server does."""

import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from kms.deadline import until
from kms.errors import UnavailableError
from kms.logins import AppRole
from kms.patience import Patience
from kms.provider import Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import TransitProvider
from kms.providers.hcvault_adapter import PastDeadlineError
from kms.providers.hcvault_address import TransitAddress
from kms.providers.hcvault_client import open_session
from kms.secret import SecretKey, SecretText
from tests.kms.providers.transit import Transit
from tests.servers.authority import Authority
from tests.servers.trickle import trickle

KEY = SecretKey(bytes(range(32)))
TIMEOUT = 0.2
DEADLINE = 0.3
# For a busy machine. The servers here would keep a caller for ten.
SLACK = 5.0
# The second, where a busy machine comes to another attempt only when the deadline is over.
NO_ANSWER = "does not answer|took until its deadline"
PLAIN = ["status line", "header", "body", "chunks", "nothing"]
STAGES = [(stage, False) for stage in PLAIN] + [(stage, True) for stage in [*PLAIN, "handshake"]]


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """No thread is left behind either."""
    threads, begun = set(threading.enumerate()), time.monotonic()
    yield
    assert time.monotonic() - begun < seconds + SLACK
    # The server's own are stopped by the server.
    assert not [t for t in set(threading.enumerate()) - threads if "_answer" not in t.name]


def settings_for(tls: bool, folder: Path, **more: Any) -> tuple[Authority | None, ProviderSettings]:
    given: dict[str, Any] = {"token": SecretText("t"), "timeout": TIMEOUT} | more
    if not tls:
        return None, ProviderSettings(allow_plain_http_to_loopback=True, **given)
    authority = Authority(folder)
    return authority, ProviderSettings(ca_file=str(authority.ca), **given)


@pytest.mark.parametrize(("stage", "tls"), STAGES)
def test_a_server_that_trickles_holds_a_call_no_longer_than_deadline_and_timeout(
    tmp_path: Path, stage: str, tls: bool
) -> None:
    authority, settings = settings_for(tls, tmp_path, deadline=DEADLINE)
    with trickle(stage, authority.server() if authority else None) as server:
        provider = TransitProvider.from_uri(f"hcvault://127.0.0.1:{server.port}/transit/keys/k", settings)
        with within(DEADLINE + TIMEOUT), pytest.raises(UnavailableError, match=NO_ANSWER):
            provider.wrap(KEY, b"p")
    assert server.asked >= 1


@pytest.mark.parametrize("stage", ["long", "packed"])
def test_an_answer_that_is_too_long_is_not_kept(tmp_path: Path, stage: str) -> None:
    _, settings = settings_for(False, tmp_path, timeout=10)
    with trickle(stage) as server:
        address = address_of(server.port, settings)
        provider = TransitProvider(address, settings, patience=Patience(attempts=1, deadline=10))
        tracemalloc.start()
        with pytest.raises(UnavailableError, match="TooLongError"):
            provider.unwrap([(Wrapped(b"vault:v1:AAAA", address.kek, "1"), b"p")])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 32 * 2**20


@pytest.mark.parametrize("tls", [False, True])
def test_a_login_is_not_waited_for_longer_either(tmp_path: Path, tls: bool) -> None:
    login = {"token": None, "login": AppRole("role", SecretText("hunter2"))}
    authority, settings = settings_for(tls, tmp_path, deadline=DEADLINE, **login)
    with trickle("body", authority.server() if authority else None) as server:
        provider = TransitProvider.from_uri(f"hcvault://127.0.0.1:{server.port}/transit/keys/k", settings)
        with within(DEADLINE + TIMEOUT), pytest.raises(UnavailableError, match=NO_ANSWER):
            provider.wrap(KEY, b"p")


def test_threads_that_wait_for_one_login_wait_no_longer(tmp_path: Path) -> None:
    _, settings = settings_for(False, tmp_path, deadline=DEADLINE, token=None, login=AppRole("role", SecretText("s")))
    failures: list[UnavailableError] = []
    with trickle("body") as server:
        provider = TransitProvider.from_uri(f"hcvault://127.0.0.1:{server.port}/transit/keys/k", settings)

        def call() -> None:
            with pytest.raises(UnavailableError) as raised:
                provider.unwrap([(Wrapped(b"vault:v1:AAAA", "", "1"), b"p")])
            failures.append(raised.value)

        callers = [threading.Thread(target=call) for _ in range(16)]
        with within(DEADLINE + TIMEOUT):
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
    assert len(failures) == 16


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("stage", ["nothing", "request"])
def test_a_server_that_takes_nothing_in_or_little_is_left_in_time(tmp_path: Path, stage: str, tls: bool) -> None:
    """More than the system's buffers hold is sent to it."""
    authority, settings = settings_for(tls, tmp_path)
    with trickle(stage, authority.server() if authority else None) as server:
        address = address_of(server.port, settings)
        failing = pytest.raises(requests.exceptions.RequestException)
        with open_session(address, settings) as session, within(TIMEOUT), failing:
            session.post(address.url, data=b"x" * 30_000_000, timeout=TIMEOUT)


def test_nothing_is_begun_after_the_deadline(tmp_path: Path) -> None:
    _, settings = settings_for(False, tmp_path)
    with trickle("body") as server:
        address = address_of(server.port, settings)
        with open_session(address, settings) as session, until(time.monotonic()), pytest.raises(PastDeadlineError):
            session.get(address.url, timeout=TIMEOUT)
    assert server.asked == 0


@pytest.mark.openbao
def test_a_healthy_server_that_is_only_too_slow_for_the_deadline_is_told_as_that(
    transit: Transit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chunk of a batch is a request of the same call."""
    provider = transit.provider(patience=None, deadline=1.0)
    wrapped = (transit.provider().wrap(KEY, b"p"), b"p")
    monkeypatch.setattr("kms.providers.hcvault.ITEMS_A_REQUEST", 1)
    with pytest.raises(UnavailableError, match="set a longer deadline"):
        provider.unwrap([wrapped] * 20_000)
    assert provider.unwrap([wrapped] * 5) == [KEY] * 5


@pytest.fixture
def full() -> Iterator[int]:
    """The port of a listener that takes no connection any more: who asks is not answered."""
    with socket.socket() as listener, socket.socket() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting.setblocking(False)
        waiting.connect_ex(listener.getsockname())
        with socket.socket() as more:
            more.setblocking(False)
            more.connect_ex(listener.getsockname())
            yield int(listener.getsockname()[1])


@pytest.fixture
def resolving(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """vault.example.org has these ports of this machine for its addresses."""

    def resolve(*ports: int) -> None:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
        monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: found)

    return resolve


def test_a_name_with_many_dead_addresses_costs_one_timeout(
    tmp_path: Path, full: int, resolving: Callable[..., None]
) -> None:
    _, settings = settings_for(True, tmp_path, deadline=0.1)
    resolving(*[full] * 10)
    with within(0.1 + TIMEOUT), pytest.raises(UnavailableError, match="does not answer"):
        TransitProvider.from_uri("hcvault://vault.example.org/transit/keys/k", settings).wrap(KEY, b"p")


def test_a_dead_address_is_passed_over_for_one_that_answers(
    tmp_path: Path, full: int, resolving: Callable[..., None]
) -> None:
    _, settings = settings_for(False, tmp_path, timeout=1.0)
    with trickle("body") as server:
        address = address_of(server.port, settings)
        resolving(full, server.port)
        with open_session(address, settings) as session, pytest.raises(requests.exceptions.RequestException):
            session.get(address.url, timeout=1.0)
        assert server.asked == 1


def address_of(port: int, settings: ProviderSettings) -> TransitAddress:
    plain = settings.allow_plain_http_to_loopback
    return TransitAddress.parse(f"hcvault://127.0.0.1:{port}/transit/keys/k", plain_http_to_loopback=plain)
