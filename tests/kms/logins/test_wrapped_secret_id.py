"""A secret id that comes in a wrapping, which opens once."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import hvac
import pytest

from kms.errors import AccessDeniedError, LoginExpiredError
from kms.logins.app_role import AppRole
from kms.logins.wrapped_secret_id import WrappedSecretId
from kms.secret import SecretKey, SecretText
from tests.kms.logins.vault_logins import AppRoleOnServer, connect_to
from tests.kms.providers.transit import Transit, frames_of

pytestmark = pytest.mark.openbao
KEY = SecretKey(bytes(range(32)))


def test_it_is_opened_once_and_serves_every_later_login(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit)
    login = AppRole(role.role_id, WrappedSecretId(SecretText(role.wrapping_token())), role.mount)
    first, second = (transit.provider(login=login) for _ in range(2))
    assert second.unwrap([(first.wrap(KEY, b"p"), b"p")]) == [KEY]
    held = first._logins._held
    assert held is not None
    transit.root.auth.token.revoke(held.grant.token.reveal())
    first.wrap(KEY, b"p")


def test_threads_open_it_once(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit)
    wrapped = WrappedSecretId(SecretText(role.wrapping_token()))
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: wrapped.unwrap(connect_to(transit), role.mount), range(8)))
    assert all(secret_id is opened[0] for secret_id in opened)


def test_one_that_somebody_else_opened_is_an_expired_login_and_an_alarm(transit: Transit) -> None:
    role = AppRoleOnServer.create(transit)
    token = role.wrapping_token()
    stolen = hvac.Client(url=transit.server.url, token=token, timeout=10, cert="").sys.unwrap()["data"]["secret_id"]
    provider = transit.provider(login=AppRole(role.role_id, WrappedSecretId(SecretText(token)), role.mount))
    with pytest.raises(LoginExpiredError, match="if not by this program, revoke the secret id") as raised:
        provider.wrap(KEY, b"p")
    shown = frames_of(raised.value)
    assert token not in shown
    assert stolen not in shown


def test_a_wrapping_of_something_else_is_not_opened(transit: Transit) -> None:
    role, other = AppRoleOnServer.create(transit), AppRoleOnServer.create(transit)
    tokens = (
        other.wrapping_token(),
        transit.root.write_data("sys/wrapping/wrap", data={"secret_id": "hunter2"}, wrap_ttl="60s")["wrap_info"][
            "token"
        ],
    )
    for token in tokens:
        provider = transit.provider(login=AppRole(role.role_id, WrappedSecretId(SecretText(token)), role.mount))
        with pytest.raises(AccessDeniedError, match="somebody may have exchanged it"):
            provider.wrap(KEY, b"p")


def test_it_is_not_shown_pickled_or_copied() -> None:
    wrapped = WrappedSecretId(SecretText("s.hunter2"))
    assert "hunter2" not in repr(AppRole("r", wrapped))
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="opens once"):
            take(wrapped)
    with pytest.raises(TypeError, match="SecretText"):
        WrappedSecretId("s.hunter2")  # type: ignore[arg-type]
