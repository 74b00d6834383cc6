"""The Transit provider against a running OpenBao."""

import os
from collections.abc import Callable
from typing import Any

import hvac
import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyNotFoundError,
    KeyVersionRetiredError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
)
from kms.key_database import writing
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table
from kms.keyring import Keyring
from kms.open_provider import open_provider
from kms.provider import KeyProvider, Opens, Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import ITEMS_A_REQUEST, TransitProvider
from kms.secret import SecretKey, SecretText
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import Transit, b64, frames_of
from tests.sizes import sized

pytestmark = pytest.mark.openbao
KEY = SecretKey(bytes(range(32)))


def count_requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    send = requests.Session.request

    def counted(session: requests.Session, method: str, url: str, **kwargs: Any) -> requests.Response:
        sent.append(f"{method} {url}")
        return send(session, method, url, **kwargs)

    monkeypatch.setattr(requests.Session, "request", counted)
    return sent


def test_what_is_wrapped_unwraps_in_order(transit: Transit) -> None:
    provider = open_provider(transit.uri(), ProviderSettings(SecretText("root"), allow_plain_http_to_loopback=True))
    keys = [SecretKey(os.urandom(size)) for size in (16, 32, 64)]
    pairs = [(provider.wrap(key, b"place %d" % n), b"place %d" % n) for n, key in enumerate(keys)]
    assert provider.unwrap(pairs) == keys
    assert provider.unwrap([]) == []
    wrapped = pairs[0][0]
    assert wrapped.kek == transit.uri()
    assert wrapped.kek_version == "1"
    assert wrapped.ciphertext.startswith(b"vault:v1:")


def test_the_version_that_wrapped_is_recorded(transit: Transit) -> None:
    provider = transit.provider()
    old = provider.wrap(KEY, b"p")
    transit.root.write_data(f"{transit.mount}/keys/kek/rotate", data={})
    new = provider.wrap(KEY, b"p")
    assert (old.kek_version, new.kek_version) == ("1", "2")
    assert provider.unwrap([(old, b"p"), (new, b"p")]) == [KEY, KEY]


def test_a_key_opens_in_its_own_place_only(transit: Transit) -> None:
    provider = transit.provider()
    one, two = provider.wrap(KEY, b"one"), provider.wrap(SecretKey(bytes(32)), b"two")
    for wrapped, context in ((one, b"two"), (two, b"one"), (one, b"on"), (one, b"one ")):
        with pytest.raises(CannotUnwrapError):
            provider.unwrap([(wrapped, context)])


def test_keys_of_one_place_are_unwrapped_in_few_requests(transit: Transit, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = transit.provider()
    wrapped = provider.wrap(KEY, b"p")
    sent = count_requests(monkeypatch)
    assert provider.unwrap([(wrapped, b"p")] * 450) == [KEY] * 450
    assert len(sent) == 3


def test_a_server_that_takes_less_is_sent_less(transit: Transit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kms.providers.hcvault.ITEMS_A_REQUEST", 2 * ITEMS_A_REQUEST)  # over the listener's limit
    provider = transit.provider()
    wrapped = provider.wrap(KEY, b"p")
    sent = count_requests(monkeypatch)
    assert provider.unwrap([(wrapped, b"p")] * 319) == [KEY] * 319
    assert len(sent) == 3


def test_a_key_that_ignores_the_context_is_refused_before_it_wraps(transit: Transit) -> None:
    transit.create("plain", derived=False)
    with pytest.raises(MisconfiguredError, match="use a key with derived=true"):
        transit.provider("plain").wrap(KEY, b"p")


def test_a_missing_key_is_not_created_by_accident(transit: Transit) -> None:
    with pytest.raises(KeyNotFoundError, match="create it with derived=true"):
        transit.provider("missing").wrap(KEY, b"p")
    with pytest.raises(KeyNotFoundError, match="create it with derived=true"):
        transit.provider("missing").unwrap([(Wrapped(b"vault:v1:AAAA", "", "1"), b"p")])
    assert transit.root.read(f"{transit.mount}/keys/missing") is None


def test_a_service_needs_decrypt_and_nothing_else(transit: Transit) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    service = transit.provider(token=transit.token(("decrypt/kek", "update")))
    assert service.unwrap([(wrapped, b"p")]) == [KEY]
    with pytest.raises(AccessDeniedError, match="policy"):
        service.wrap(KEY, b"p")


def test_an_operator_needs_read_and_encrypt_to_wrap(transit: Transit) -> None:
    operator = transit.provider(token=transit.token(("keys/kek", "read"), ("encrypt/kek", "update")))
    assert transit.provider().unwrap([(operator.wrap(KEY, b"p"), b"p")]) == [KEY]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_no_login_is_told_from_no_permission(transit: Transit, token: str) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    with pytest.raises(LoginExpiredError, match="log in again"):
        transit.provider(token=token).unwrap([(wrapped, b"p")])


def test_a_login_that_may_not_look_itself_up_still_counts_as_expired_only_when_it_is(transit: Transit) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    with pytest.raises((AccessDeniedError, LoginExpiredError)):
        transit.provider(token=transit.token(no_default_policy=True)).unwrap([(wrapped, b"p")])


def test_a_revoked_login_is_expired(transit: Transit) -> None:
    token = transit.token(("decrypt/kek", "update"))
    provider = transit.provider(token=token)
    wrapped = transit.provider().wrap(KEY, b"p")
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]
    transit.root.auth.token.revoke(token)
    with pytest.raises(LoginExpiredError):
        provider.unwrap([(wrapped, b"p")])


def test_no_token_of_the_environment_is_sent(transit: Transit, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / ".vault-token").write_text("root")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login x password y\n")
    for name, value in {
        "HOME": str(tmp_path),
        "VAULT_TOKEN": "root",
        "VAULT_ADDR": "http://127.0.0.1:1",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
        "NETRC": str(tmp_path / ".netrc"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("hvac.v1.VAULT_CLIENT_CERT", "/nonexistent")
    wrapped = transit.provider().wrap(KEY, b"p")
    with pytest.raises(LoginExpiredError):
        transit.provider(token="").unwrap([(wrapped, b"p")])


def wrap(provider: TransitProvider, wrapped: Wrapped) -> None:
    provider.wrap(KEY, b"p")


def unwrap(provider: TransitProvider, wrapped: Wrapped) -> None:
    provider.unwrap([(wrapped, b"p"), (wrapped, b"q")])


def failing(transit: Transit) -> list[tuple[TransitProvider, Callable[[TransitProvider, Wrapped], None]]]:
    return [
        (transit.provider(token="hvs.hunter2"), unwrap),
        (transit.provider(token=transit.token(("keys/kek", "read"))), wrap),
        (transit.provider(token=transit.token(("keys/kek", "read"))), unwrap),
        (transit.provider(), unwrap),
    ]


def test_no_error_holds_a_key_in_message_chain_or_frame(transit: Transit) -> None:
    """Item 1 of the batch opens; its plaintext is in the very answer that says item 2 does not."""
    wrapped = transit.provider().wrap(KEY, b"p")
    for provider, operation in failing(transit):
        with pytest.raises(KmsError) as raised:
            operation(provider, wrapped)
        shown = frames_of(raised.value)
        for secret in (b64(KEY.raw), KEY.raw.hex(), repr(KEY.raw), "hunter2"):
            assert secret not in shown
        assert raised.value.__cause__ is None


def test_one_bad_item_does_not_make_an_exception_of_the_whole_answer(
    transit: Transit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """hvac puts the body of a refusal, the other items' plaintexts in it, into its exception's text."""
    wrapped = transit.provider().wrap(KEY, b"p")
    statuses: list[int] = []
    send = requests.Session.request

    def noted(session: requests.Session, method: str, url: str, **kwargs: Any) -> requests.Response:
        response = send(session, method, url, **kwargs)
        statuses.append(response.status_code)
        return response

    monkeypatch.setattr(requests.Session, "request", noted)
    with pytest.raises(CannotUnwrapError):
        transit.provider().unwrap([(wrapped, b"p"), (wrapped, b"q")])
    assert statuses == [200]


@settings(max_examples=sized(10, 40), deadline=None)
@given(st.binary(max_size=80))
def test_bytes_that_are_no_ciphertext_are_refused(transit_for_all: TransitProvider, junk: bytes) -> None:
    with pytest.raises(CannotUnwrapError):
        transit_for_all.unwrap([(Wrapped(junk, "", "1"), b"p")])


@pytest.fixture(scope="module")
def transit_for_all(bao: Any) -> TransitProvider:
    transit = Transit(bao, "transit-for-junk")
    transit.root.sys.enable_secrets_engine("transit", path=transit.mount)
    transit.create()
    return transit.provider()


def test_wrapped_bytes_swapped_by_sql_do_not_open(transit: Transit, any_store: KeyStore) -> None:
    provider: KeyProvider = transit.provider()
    Keyring.create(any_store, provider, "main").lifecycle.rotate(Purpose.DATA)
    one, two = any_store.load("main").of(Purpose.DATA)
    assert one.wrapped is not None
    assert two.wrapped is not None
    with writing(any_store.engine) as connection:
        for record, other in ((one, two.wrapped), (two, one.wrapped)):
            row = key_table.c.key_id == record.key_id
            connection.execute(key_table.update().where(row).values(wrapped=other.ciphertext))
    fresh = Keyring.open(any_store, provider, "main")
    for record in (one, two):
        with pytest.raises(CannotUnwrapError):
            fresh.opening(Purpose.DATA, record.key_id)


def test_a_keyring_is_warmed_by_one_request(transit: Transit, store: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = Keyring.create(store, transit.provider(), "main")
    keyring.lifecycle.rotate(Purpose.DATA)
    fresh = Keyring.open(store, transit.provider(), "main")
    sent = count_requests(monkeypatch)
    assert len(fresh.warm()) == 4
    for record in fresh.records():
        fresh.opening(record.purpose, record.key_id)
    fresh.sealing(Purpose.DATA)
    assert len(sent) == 1


def test_a_policy_that_is_taken_away_ends_the_key_after_the_soft_lease(
    transit: Transit, store: KeyStore, clock: ManualClock
) -> None:
    Keyring.create(store, transit.provider(), "main")
    token = transit.token(("decrypt/kek", "update"))
    service = Keyring.open(store, transit.provider(token=token), "main", clock=clock, refresh=False)
    key_id = service.sealing(Purpose.DATA).key.key_id
    policies = transit.root.auth.token.lookup(token)["data"]["policies"]
    for policy in set(policies) - {"default"}:
        transit.root.sys.create_or_update_policy(policy, 'path "none" { capabilities = ["read"] }')
    clock.advance(299)
    service.opening(Purpose.DATA, key_id)
    clock.advance(1)
    with pytest.raises(AccessDeniedError):
        service.opening(Purpose.DATA, key_id)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_connection_of_its_own(transit: Transit) -> None:
    provider = transit.provider()
    wrapped = provider.wrap(KEY, b"p")
    session, login = provider._session, provider._logins._held
    assert session is not None
    assert login is not None
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            forgot = provider._session is None and provider._logins._held is None
            good = forgot and provider.unwrap([(wrapped, b"p")]) == [KEY]
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert provider._session is session
    assert provider._logins._held is login


def rotate(transit: Transit, **config: int) -> None:
    transit.root.write_data(f"{transit.mount}/keys/kek/rotate", data={})
    if config:
        transit.root.write_data(f"{transit.mount}/keys/kek/config", data=config)


def test_k11_10_a_keyring_outlives_the_kek_version_that_wrapped_it(transit: Transit, any_store: KeyStore) -> None:
    """The Transit key is rotated, the keys rewrapped, the old version retired: they open, and are the same keys."""
    keyring = Keyring.create(any_store, transit.provider(), "main")
    first = keyring.sealing(Purpose.DATA).key
    keyring.lifecycle.rotate(Purpose.DATA)
    rotate(transit)
    assert len(keyring.lifecycle.rewrap()) == 4
    assert {r.wrapped.kek_version for r in keyring.records() if r.wrapped is not None} == {"2"}
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"min_decryption_version": 2})
    fresh = Keyring.open(any_store, transit.provider(), "main")
    assert fresh.lifecycle.check() == []
    assert len(fresh.warm()) == 4
    assert fresh.opening(Purpose.DATA, first.key_id) == first


def test_k11_10_a_key_below_min_decryption_version_says_what_to_run(transit: Transit, store: KeyStore) -> None:
    """Typed as it says, it is undone."""
    Keyring.create(store, transit.provider(), "main")
    rotate(transit, min_decryption_version=2)
    keyring = Keyring.open(store, transit.provider(), "main")
    path = f"{transit.mount}/keys/kek/config"
    for operation in (lambda: keyring.sealing(Purpose.DATA), keyring.lifecycle.rewrap):
        with pytest.raises(KeyVersionRetiredError) as raised:
            operation()
        assert f"`bao write {path} min_decryption_version=1`" in str(raised.value)
        assert "then run `noisevault keys rewrap`" in str(raised.value)
    assert [type(error) for _, error in keyring.lifecycle.check()] == [KeyVersionRetiredError] * 3
    transit.root.write_data(path, data={"min_decryption_version": 1})
    assert len(keyring.lifecycle.rewrap()) == 3
    transit.root.write_data(path, data={"min_decryption_version": 2})
    assert keyring.lifecycle.check() == []


def test_k11_10_of_keys_under_several_versions_the_retired_ones_alone_do_not_open(
    transit: Transit, store: KeyStore
) -> None:
    provider = transit.provider()
    keyring = Keyring.create(store, provider, "main", refresh=False)
    old = {record.key_id for record in keyring.records()}
    for _ in range(2):
        transit.root.write_data(f"{transit.mount}/keys/kek/rotate", data={})
        keyring.lifecycle.rotate(Purpose.DATA)
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"min_decryption_version": 2})
    fresh = Keyring.open(store, provider, "main", refresh=False)
    young = {record.key_id for record in fresh.records()} - old
    assert fresh.warm() == young
    assert {fresh.opening(Purpose.DATA, key_id).key_id for key_id in young} == young
    assert fresh.sealing(Purpose.DATA).key.key_id in young
    for key_id in {record.key_id for record in fresh.records(Purpose.DATA)} - young:
        with pytest.raises(KeyVersionRetiredError, match="min_decryption_version=1`"):
            fresh.opening(Purpose.DATA, key_id)


def test_k11_10_a_transit_key_restored_from_before_its_rotation_is_told_as_that(
    transit: Transit, store: KeyStore
) -> None:
    transit.create("kept", exportable=True, allow_plaintext_backup=True)
    backup = transit.root.read(f"{transit.mount}/backup/kept")["data"]["backup"]
    transit.root.write_data(f"{transit.mount}/keys/kept/rotate", data={})
    keyring = Keyring.create(store, transit.provider("kept"), "main", refresh=False)
    key_id = keyring.sealing(Purpose.DATA).key.key_id
    transit.root.write_data(f"{transit.mount}/restore/kept", data={"backup": backup, "force": True})
    fresh = Keyring.open(store, transit.provider("kept"), "main", refresh=False)
    with pytest.raises(CannotUnwrapError, match=r"version 2 of hcvault://.*older than its last rotation"):
        fresh.opening(Purpose.DATA, key_id)
    assert len(fresh.lifecycle.check()) == len(Purpose)


def test_a_rewrapped_key_opens_in_its_own_place_only(transit: Transit) -> None:
    provider = transit.provider()
    old = provider.wrap(KEY, b"p")
    rotate(transit)
    (new,) = provider.rewrap([(old, b"p")])
    assert (new.kek, new.kek_version, new.ciphertext[:9]) == (transit.uri(), "2", b"vault:v2:")
    assert provider.unwrap([(old, b"p"), (new, b"p")]) == [KEY, KEY]
    with pytest.raises(CannotUnwrapError):
        provider.unwrap([(new, b"q")])
    with pytest.raises(CannotUnwrapError):
        provider.rewrap([(new, b"p"), (new, b"q")])
    with pytest.raises(CannotUnwrapError):
        provider.rewrap([(Wrapped(b"junk", "", "1"), b"p")])


@pytest.mark.parametrize(("limit", "count"), [(ITEMS_A_REQUEST, 450), (2 * ITEMS_A_REQUEST, 319)])
def test_keys_are_rewrapped_in_few_requests_and_in_order(
    transit: Transit, monkeypatch: pytest.MonkeyPatch, limit: int, count: int
) -> None:
    """The second limit is over the listener's: the first request is refused and halved."""
    monkeypatch.setattr("kms.providers.hcvault.ITEMS_A_REQUEST", limit)
    provider = transit.provider()
    kinds = [(SecretKey(bytes([n]) * 32), b"place %d" % n) for n in range(3)]
    old = [(provider.wrap(key, context), context) for key, context in kinds]
    sent = count_requests(monkeypatch)
    new = provider.rewrap([old[n % 3] for n in range(count)])
    assert len(sent) == 3
    assert provider.unwrap([(new[n], kinds[n % 3][1]) for n in range(6)]) == [kinds[n % 3][0] for n in range(6)]
    assert provider.rewrap([]) == []


def test_rewrapping_shows_no_key_and_needs_no_right_to_decrypt(
    transit: Transit, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = transit.provider()
    old = provider.wrap(KEY, b"p")
    bodies: list[str] = []
    send = requests.Session.request

    def noted(session: requests.Session, method: str, url: str, **kwargs: Any) -> requests.Response:
        response = send(session, method, url, **kwargs)
        bodies.append(repr(kwargs) + response.text)
        return response

    monkeypatch.setattr(requests.Session, "request", noted)
    rotator = transit.provider(token=transit.token(("rewrap/kek", "update")))
    (new,) = rotator.rewrap([(old, b"p")])
    assert bodies
    assert b64(KEY.raw) not in "".join(bodies)
    assert provider.unwrap([(new, b"p")]) == [KEY]
    with pytest.raises(AccessDeniedError):
        rotator.unwrap([(new, b"p")])
    with pytest.raises(AccessDeniedError):
        transit.provider(token=transit.token(("decrypt/kek", "update"))).rewrap([(old, b"p")])


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"ciphertext": "", "key_version": 2},
        {"ciphertext": "vault:v2:", "key_version": 2},
        {"ciphertext": "vault:v2:AAAA", "key_version": 3},
        {"ciphertext": "vault:v1:AAAA", "key_version": True},
        {"ciphertext": "vault:v2:AAAA"},
        {"ciphertext": 5, "key_version": 5},
        "vault:v2:AAAA",
    ],
)
def test_an_answer_that_would_not_open_again_is_never_stored(
    transit: Transit, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    provider = transit.provider()
    monkeypatch.setattr(hvac.Client, "write_data", lambda *_, **__: {"data": {"batch_results": [answer]}})
    with pytest.raises(UnavailableError, match="no proper answer"):
        provider.rewrap([(Wrapped(b"vault:v1:AAAA", transit.uri(), "1"), b"p")])


def test_it_opens_its_key_and_perhaps_what_was_that_key_on_a_server_called_otherwise(transit: Transit) -> None:
    provider = transit.provider()
    path = transit.uri().partition("://")[2].partition("/")[2]
    assert provider.opens(transit.uri()) is Opens.SURELY
    assert provider.opens(f"hcvault://vault.example.org:8200/{path}") is Opens.PERHAPS
    assert provider.opens(transit.uri("other")) is provider.opens("local:8963") is Opens.NO


def test_a_key_of_another_kek_is_told_by_both_names(transit: Transit) -> None:
    transit.create("other")
    wrapped = transit.provider("other").wrap(KEY, b"place")
    foreign = Wrapped(bytes(60), "local:8963", "1")
    for one in (wrapped, foreign):
        with pytest.raises(CannotUnwrapError, match=f"wrapped by {one.kek}, but the key is {transit.uri()}: give"):
            transit.provider().unwrap([(one, b"place")])
