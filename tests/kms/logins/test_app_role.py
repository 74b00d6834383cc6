"""The AppRole login against a running OpenBao."""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hvac
import pytest

from kms.errors import AccessDeniedError, MisconfiguredError, UnavailableError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.logins.app_role import AppRole
from kms.logins.wrapped_secret_id import WrappedSecretId
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import TransitProvider
from kms.secret import SecretKey, SecretText
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.providers.transit import Transit, frames_of, transit_on
from tests.servers.openbao import bao_dev

pytestmark = pytest.mark.openbao
KEY = SecretKey(bytes(range(32)))
# A token dies up to one second late, so the work lasts three lives of two seconds.
WORK_SECONDS = 6


def login_of(role: AppRoleOnServer) -> AppRole:
    return AppRole(role.role_id, SecretText(role.secret_id()), role.mount)


@pytest.mark.parametrize(
    "settings",
    [
        {"token_ttl": "2s"},
        {"token_ttl": "2s", "token_max_ttl": "3s"},
        {"token_ttl": "2s", "token_max_ttl": "2s", "token_type": "batch"},
    ],
    ids=["renewed", "until its greatest age", "batch"],
)
def test_k13_01_work_outlasts_the_token(transit: Transit, settings: dict[str, Any]) -> None:
    provider = transit.provider(login=login_of(AppRoleOnServer.create(transit, **settings)))
    wrapped = provider.wrap(KEY, b"p")
    end, done = time.monotonic() + WORK_SECONDS, 0
    while time.monotonic() < end:
        assert provider.unwrap([(wrapped, b"p")]) == [KEY]
        done += 1
        time.sleep(0.05)
    assert done > 20


def test_k13_01_a_pause_longer_than_the_tokens_life_is_not_noticed(transit: Transit) -> None:
    provider = transit.provider(login=login_of(AppRoleOnServer.create(transit, token_ttl="2s")))
    wrapped = provider.wrap(KEY, b"p")
    time.sleep(4)
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_k13_01_keys_rotate_after_the_tokens_life(transit: Transit, store: KeyStore) -> None:
    provider = transit.provider(login=login_of(AppRoleOnServer.create(transit, token_ttl="1s")))
    keyring = Keyring.create(store, provider, "main")
    time.sleep(2.5)
    keyring.lifecycle.rotate(Purpose.DATA)
    assert len(Keyring.open(store, transit.provider(), "main").warm()) == 4


def test_a_token_with_few_uses_is_replaced(transit: Transit) -> None:
    provider = transit.provider(login=login_of(AppRoleOnServer.create(transit, token_num_uses=3)))
    wrapped = provider.wrap(KEY, b"p")
    for _ in range(8):
        assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_a_revoked_token_is_replaced(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit)
    provider = transit.provider(login=login_of(role))
    wrapped = provider.wrap(KEY, b"p")
    held = provider._logins._held
    assert held is not None
    transit.root.auth.token.revoke(held.grant.token.reveal())
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_a_role_whose_policy_denies_is_denied_without_another_login(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit)
    transit.root.write_data(f"auth/{role.mount}/role/{role.name}", data={"token_policies": ["default"]})
    provider = transit.provider(login=login_of(role))
    with pytest.raises(AccessDeniedError, match="policy"):
        provider.wrap(KEY, b"p")
    assert provider._logins._attempts == 1


@pytest.mark.parametrize("wrong", ["role", "secret", "both"])
def test_a_wrong_role_or_secret_id_is_denied_with_what_to_check(transit: Transit, wrong: str) -> None:
    role = AppRoleOnServer.create(transit)
    role_id = role.role_id if wrong == "secret" else "no-such-role"
    secret_id = role.secret_id() if wrong == "role" else "hunter2"
    provider = transit.provider(login=AppRole(role_id, SecretText(secret_id), role.mount))
    with pytest.raises(AccessDeniedError, match="check role id and secret id of auth/approle-") as raised:
        provider.wrap(KEY, b"p")
    shown = frames_of(raised.value)
    assert "hunter2" not in shown
    assert secret_id not in shown
    assert raised.value.__cause__ is raised.value.__context__ is None


def test_a_refused_role_is_sent_once_in_five_seconds_so_that_the_server_does_not_lock_it(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit)
    provider = transit.provider(login=AppRole(role.role_id, SecretText("wrong"), role.mount))
    for _ in range(6):  # one more than the server takes
        with pytest.raises(AccessDeniedError, match=r"is refused.*locked"):
            provider.wrap(KEY, b"p")
    assert provider._logins._attempts == 1
    transit.provider(login=login_of(role)).wrap(KEY, b"p")


def test_a_secret_id_that_is_used_up_is_denied_when_the_token_ends(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit, secret_id_num_uses=1, token_ttl="1s", token_max_ttl="1s")
    provider = transit.provider(login=login_of(role))
    provider.wrap(KEY, b"p")
    time.sleep(2.5)
    with pytest.raises(AccessDeniedError, match="number of uses"):
        provider.wrap(KEY, b"p")


def test_a_mount_that_is_not_there_is_denied_since_the_server_does_not_tell(transit: Transit) -> None:
    provider = transit.provider(login=AppRole("r", SecretText("s"), "nothing-here"))
    with pytest.raises(AccessDeniedError, match=r"auth/nothing-here.*the mount"):
        provider.wrap(KEY, b"p")


def test_a_namespace_that_is_not_there_is_misconfigured(transit: Transit) -> None:
    provider = transit.provider(login=AppRole("r", SecretText("s")), namespace="nowhere")
    with pytest.raises(MisconfiguredError, match="namespace"):
        provider.wrap(KEY, b"p")


def test_a_server_that_is_down_is_unavailable() -> None:
    login = AppRole("r", SecretText("hunter2"))
    settings = ProviderSettings(login=login, allow_plain_http_to_loopback=True, timeout=2, deadline=0.1)
    with pytest.raises(UnavailableError) as raised:
        TransitProvider.from_uri("hcvault://127.0.0.1:1/transit/keys/kek", settings).wrap(KEY, b"p")
    assert "hunter2" not in frames_of(raised.value)


def test_a_sealed_server_is_an_outage_and_the_login_goes_on_after_it(tmp_path: Path) -> None:
    with bao_dev(tmp_path) as server, transit_on(server, "transit") as transit:
        transit.create()
        login = login_of(AppRoleOnServer.create(transit, token_ttl="1s", token_max_ttl="1s"))
        provider = transit.provider(login=login)
        wrapped = provider.wrap(KEY, b"p")
        transit.root.sys.seal()
        time.sleep(1.5)
        for sealed in (provider, transit.provider(login=login)):
            with pytest.raises(UnavailableError, match="sealed or down"):
                sealed.unwrap([(wrapped, b"p")])
        unseal_key = re.search(r"Unseal Key: (\S+)", (tmp_path / "log").read_text())
        assert unseal_key is not None
        transit.root.sys.submit_unseal_key(unseal_key[1])
        deadline = time.monotonic() + 15
        while not isinstance(transit.root.sys.read_health_status(method="GET"), dict):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_the_login_is_sent_to_the_namespace(transit: Transit) -> None:
    """A role of a namespace is not known outside of it."""
    name = f"tenant-{os.urandom(4).hex()}"
    transit.root.sys.create_namespace(name)
    root = hvac.Client(url=transit.server.url, token="root", namespace=name, timeout=10, cert="")
    root.sys.enable_auth_method("approle")
    root.sys.enable_secrets_engine("transit")
    root.write_data("transit/keys/kek", data={"derived": True})
    root.sys.create_or_update_policy("app", 'path "transit/*" { capabilities = ["read", "update"] }')
    root.write_data("auth/approle/role/app", data={"token_policies": ["app"], "token_ttl": "2s"})
    role_id = root.read("auth/approle/role/app/role-id")["data"]["role_id"]
    wrapping = root.write_data("auth/approle/role/app/secret-id", data={}, wrap_ttl="60s")["wrap_info"]["token"]
    login = AppRole(role_id, WrappedSecretId(SecretText(wrapping)))
    uri = f"{transit.server.url.replace('http', 'hcvault', 1)}/transit/keys/kek"
    inside = ProviderSettings(login=login, namespace=name, allow_plain_http_to_loopback=True)
    provider = TransitProvider.from_uri(uri, inside)
    wrapped = provider.wrap(KEY, b"p")
    time.sleep(1.5)
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]
    outside = ProviderSettings(login=login, allow_plain_http_to_loopback=True)
    with pytest.raises(AccessDeniedError, match="and the namespace"):
        TransitProvider.from_uri(uri, outside).wrap(KEY, b"p")


def test_threads_work_on_while_tokens_end(transit: Transit) -> None:
    provider = transit.provider(
        login=login_of(AppRoleOnServer.create(transit, token_ttl="1s", token_max_ttl="1s", token_type="batch"))
    )
    wrapped = provider.wrap(KEY, b"p")
    end = time.monotonic() + 3

    def work(_: int) -> int:
        done = 0
        while time.monotonic() < end:
            assert provider.unwrap([(wrapped, b"p")]) == [KEY]
            done += 1
            time.sleep(0.02)
        return done

    with ThreadPoolExecutor(8) as pool:
        assert min(pool.map(work, range(8))) > 5


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_logs_in_itself(transit: Transit) -> None:
    provider = transit.provider(login=login_of(AppRoleOnServer.create(transit)))
    wrapped = provider.wrap(KEY, b"p")
    held = provider._logins._held
    assert held is not None
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = provider.unwrap([(wrapped, b"p")]) == [KEY]
            own = provider._logins._held
            good = good and own is not None and own.grant.token != held.grant.token
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert provider._logins._held is held
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_a_secret_id_in_plain_text_is_refused() -> None:
    plain: Any = "hunter2"
    with pytest.raises(TypeError, match="SecretText") as raised:
        AppRole("r", plain)
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(AppRole("r", SecretText("hunter2")))
    with pytest.raises(ValueError, match="read auth/approle/role/NAME/role-id"):
        AppRole("")
