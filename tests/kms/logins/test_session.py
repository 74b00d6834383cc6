"""A login that is renewed, made again, shared by threads and forgotten by children."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import hvac.exceptions as hv
import pytest

from kms.errors import AccessDeniedError, KmsError, LoginExpiredError, UnavailableError
from kms.logins.login import VaultClient
from kms.logins.session import LoginSession
from kms.logins.token import Token
from kms.secret import SecretText
from tests.kms.logins.vault_logins import ScriptedClient, ScriptedLogin, ScriptedServer, session_on
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import frames_of

RENEW = "auth/token/renew-self"
LOOK_UP = "auth/token/lookup-self"


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def login(server: ScriptedServer) -> ScriptedLogin:
    return ScriptedLogin(server)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def session(login: ScriptedLogin, clock: ManualClock) -> LoginSession:
    return session_on(login, clock)


def token_of(client: VaultClient | KmsError | None) -> str:
    assert isinstance(client, ScriptedClient), client
    return client.token


def test_one_login_serves_until_two_thirds_of_the_lease(
    session: LoginSession, server: ScriptedServer, clock: ManualClock
) -> None:
    assert token_of(session.client()) == "t1"
    clock.advance(39.9)
    assert token_of(session.client()) == "t1"
    assert (server.logins, server.asked) == (1, [])


def test_at_two_thirds_it_is_renewed_and_keeps_its_token(
    session: LoginSession, server: ScriptedServer, clock: ManualClock
) -> None:
    session.client()
    for _ in range(5):
        clock.advance(40)
        assert token_of(session.client()) == "t1"
    assert (server.logins, server.asked) == (1, [RENEW] * 5)


def test_a_shorter_lease_than_before_means_a_new_login(
    session: LoginSession, server: ScriptedServer, clock: ManualClock
) -> None:
    session.client()
    server.renewed_seconds = 59
    clock.advance(40)
    assert token_of(session.client()) == "t2"


@pytest.mark.parametrize("failure", [hv.Forbidden, hv.InternalServerError, hv.InvalidRequest, ConnectionError])
def test_a_renewal_that_fails_means_a_new_login(
    session: LoginSession, server: ScriptedServer, clock: ManualClock, failure: type[Exception]
) -> None:
    session.client()
    server.renewal_fails = failure("past the max TTL, cannot renew")
    clock.advance(40)
    assert token_of(session.client()) == "t2"


def test_what_is_not_renewable_is_not_renewed(
    session: LoginSession, server: ScriptedServer, clock: ManualClock
) -> None:
    server.renewable = False
    session.client()
    clock.advance(40)
    assert token_of(session.client()) == "t2"
    assert server.asked == []


def test_a_token_past_its_lease_is_not_renewed_but_replaced(
    session: LoginSession, server: ScriptedServer, clock: ManualClock
) -> None:
    session.client()
    clock.advance(60)
    assert token_of(session.client()) == "t2"
    assert server.asked == []


def test_while_a_token_lives_no_failure_of_the_next_login_is_noticed(
    session: LoginSession, server: ScriptedServer, login: ScriptedLogin, clock: ManualClock
) -> None:
    session.client()
    server.renewal_fails = login.fails = ConnectionError()
    clock.advance(40)
    for _ in range(3):
        assert token_of(session.client()) == "t1"
    assert server.logins == 2  # not one for each call
    clock.advance(20)
    assert isinstance(session.client(), UnavailableError)
    login.fails = None
    assert token_of(session.client()) == "t4"


def test_a_lease_counts_from_before_it_was_asked_for(
    session: LoginSession, server: ScriptedServer, login: ScriptedLogin, clock: ManualClock
) -> None:
    login.before = lambda: clock.advance(50)
    session.client()
    login.before = lambda: None
    server.renewable = False
    clock.advance(10)
    assert token_of(session.client()) == "t2"


def test_a_refused_token_that_is_dead_is_replaced(session: LoginSession, server: ScriptedServer) -> None:
    client = session.client()
    assert not isinstance(client, KmsError)
    server.dead.add("t1")
    assert token_of(session.client_after_refusal(client)) == "t2"
    assert token_of(session.client_after_refusal(client)) == "t2"  # another thread's refusal of the same token
    assert server.logins == 2


def test_a_refused_token_that_lives_is_not_replaced(session: LoginSession, server: ScriptedServer) -> None:
    client = session.client()
    assert not isinstance(client, KmsError)
    assert session.client_after_refusal(client) is None
    assert (server.logins, server.asked) == (1, [LOOK_UP])


def test_a_given_token_that_is_dead_ends_the_login(server: ScriptedServer, clock: ManualClock) -> None:
    server.dead.add("s.hunter2")
    token = Token(SecretText("s.hunter2"))
    session = LoginSession(token, server.connect, lambda _: UnavailableError(), "hcvault://here", clock)
    client = session.client()
    assert not isinstance(client, KmsError)
    error = session.client_after_refusal(client)
    assert isinstance(error, LoginExpiredError)
    assert "hcvault://here" in str(error)
    assert "hunter2" not in str(error) + repr(session)


def test_threads_share_one_login(session: LoginSession, server: ScriptedServer, login: ScriptedLogin) -> None:
    login.before = lambda: time.sleep(0.05)
    with ThreadPoolExecutor(32) as pool:
        tokens = {token_of(client) for client in pool.map(lambda _: session.client(), range(32))}
    assert (tokens, server.logins) == ({"t1"}, 1)


def test_threads_share_one_failure_but_not_its_object(
    session: LoginSession, server: ScriptedServer, login: ScriptedLogin
) -> None:
    login.fails = hv.InvalidRequest("invalid role or secret ID")
    started = threading.Barrier(8)
    login.before = lambda: time.sleep(0.3)

    def ask(_: int) -> VaultClient | KmsError:
        started.wait()
        return session.client()

    with ThreadPoolExecutor(8) as pool:
        errors = list(pool.map(ask, range(8)))
    assert all(isinstance(error, AccessDeniedError) for error in errors)
    assert len({id(error) for error in errors}) == 8
    assert server.logins == 1
    assert isinstance(session.client(), AccessDeniedError)
    assert server.logins == 2


def test_the_others_go_on_while_one_renews(
    session: LoginSession, server: ScriptedServer, login: ScriptedLogin, clock: ManualClock
) -> None:
    server.renewable = False
    session.client()
    clock.advance(40)
    renewing, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        renewing.set()
        assert go_on.wait(10)

    login.before = wait
    with ThreadPoolExecutor(1) as pool:
        one = pool.submit(session.client)
        assert renewing.wait(10)
        assert token_of(session.client()) == "t1"
        go_on.set()
        assert token_of(one.result()) == "t2"
    assert token_of(session.client()) == "t2"


def test_no_error_has_the_clients_in_its_chain(session: LoginSession, login: ScriptedLogin) -> None:
    for failure in (hv.InvalidRequest("hunter2"), ConnectionError("hunter2"), KeyError("hunter2")):
        login.fails = failure
        error = session.client()
        assert isinstance(error, KmsError)
        assert error.__context__ is error.__cause__ is error.__traceback__ is None
        assert "hunter2" not in frames_of(error)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_logs_in_itself_even_if_a_thread_of_the_parent_was_at_it(
    session: LoginSession, server: ScriptedServer
) -> None:
    assert token_of(session.client()) == "t1"
    with session._lock:
        pid = os.fork()
        if pid == 0:
            good = False
            try:
                good = token_of(session.client()) == "t2"
            finally:
                os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert token_of(session.client()) == "t1"
