"""No key, token, passphrase or PIN leaves by a log, an error, a print or a pickle, whatever fails and wherever.

Each provider and each login is driven into each kind of failure on a real server, while everything is logged at DEBUG;
then all that was logged, raised (with the variables of every frame) or printed is searched for the secrets.
"""

import asyncio
import gc
import os
import secrets
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kms.errors import KmsError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.logins import AppRole, Jwt, Kubernetes, Login, Token, TokenFile, WrappedSecretId
from kms.open_provider import open_provider
from kms.passphrase_kdf import Argon2id, PassphraseKdf, Scrypt
from kms.provider import KeyProvider, Rewraps, Wrapped, wrap_context
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import TransitProvider
from kms.providers.local import create_key_file, read_key_file
from kms.secret import SecretKey, SecretText
from tests.kms.logins.test_jwt import Authority
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.providers.aws import Aws, answers, failing, injected
from tests.kms.providers.conftest import aws, aws_login, moto_url, transit
from tests.kms.providers.transit import Transit, b64
from tests.kms.what_is_shown import Shown, watching
from tests.servers.openbao import bao_dev
from tests.servers.softhsm import PIN
from tests.servers.softhsm import Token as HardToken
from tests.servers.tls import tls_server

__all__ = ["aws", "aws_login", "moto_url", "transit"]

PLACE, ELSEWHERE = (wrap_context(bytes(range(16)), "data", bytes([0, 0, 0, n]), n) for n in (1, 2))
CHEAP: tuple[PassphraseKdf, ...] = (Scrypt(n=8192, r=8, p=1), Argon2id(memory_kib=8192, iterations=1, lanes=1))
Work = Callable[[], object]


@pytest.fixture
def key() -> SecretKey:
    """A data key that is to stay in."""
    return SecretKey(os.urandom(32))


def fails(shown: Shown, work: Work) -> None:
    with pytest.raises(KmsError) as raised:
        work()
    shown.add_error(raised.value)
    shown.add_object(raised.value)


def changed(wrapped: Wrapped) -> Wrapped:
    return Wrapped(wrapped.ciphertext[:-6] + b"AAAAA=", wrapped.kek, wrapped.kek_version)


def everyday(shown: Shown, provider: KeyProvider, key: SecretKey) -> Wrapped:
    """Wrap and unwrap, and what each provider meets: changed bytes and another place, beside one that is good."""
    wrapped = provider.wrap(key, PLACE)
    assert provider.unwrap([(wrapped, PLACE)]) == [key]
    fails(shown, lambda: provider.unwrap([(wrapped, PLACE), (changed(wrapped), PLACE)]))
    fails(shown, lambda: provider.unwrap([(wrapped, PLACE), (wrapped, ELSEWHERE)]))
    fails(shown, lambda: provider.unwrap([(wrapped, PLACE), (Wrapped(b"", wrapped.kek, "1"), PLACE)]))
    for held in (provider, wrapped, key):
        shown.add_object(held)
    return wrapped


def through_a_keyring(shown: Shown, store: KeyStore, provider: KeyProvider) -> list[bytes]:
    """The same as an application sees it, with the raw keys that were in memory."""
    keyring = Keyring.create(store, provider, "main")
    leased = [keyring.sealing(purpose) for purpose in Purpose]
    for held in (keyring, keyring.lifecycle, *leased, *(one.key for one in leased), *keyring.records()):
        shown.add_object(held)
    data, index = (keyring.records(purpose)[0] for purpose in (Purpose.DATA, Purpose.INDEX))
    assert index.wrapped is not None
    store.replace_wrapped([(data, index.wrapped)])  # one key's bytes over another's
    other = Keyring.open(store, provider, "main")
    other.warm()
    fails(shown, lambda: other.opening(Purpose.DATA, data.key_id))
    fails(shown, lambda: other.opening(Purpose.INDEX, data.key_id))
    fails(shown, lambda: other.sealing(Purpose.DATA))
    fails(shown, lambda: other.lifecycle.rotate(Purpose.DATA))
    if isinstance(provider, Rewraps):
        fails(shown, other.lifecycle.rewrap)
    for _, error in other.lifecycle.check():
        shown.add_error(error)
    return [one.key.secret.raw for one in leased]


# Vault and OpenBao.


@pytest.mark.openbao
def test_transit_shows_nothing(transit: Transit, store: KeyStore, key: SecretKey) -> None:
    token = transit.token(("keys/*", "read"), ("encrypt/*", "update"), ("decrypt/*", "update"), ("rewrap/*", "update"))
    powerless, ended = transit.token(), f"s.{secrets.token_hex(12)}"
    transit.create("plain", derived=False)
    with watching() as shown:
        provider = transit.provider(token=token)
        wrapped = everyday(shown, provider, key)
        provider.rewrap([(wrapped, PLACE)])
        fails(shown, lambda: provider.rewrap([(wrapped, PLACE), (wrapped, ELSEWHERE)]))
        for other in (
            transit.provider(token=powerless),
            transit.provider(token=ended),
            transit.provider(token=f"{token}\n"),
            transit.provider("missing", token=token),
            transit.provider("plain", token=token),
            transit.provider(token=token, namespace="missing"),
            transit.provider(token=token, allow_plain_http_to_loopback=False),
            transit.provider(token=token, allow_plain_http_to_loopback=False, ca_file="/nonexistent.pem"),
        ):
            fails(shown, lambda other=other: other.wrap(key, PLACE))
            shown.add_object(other)
        transit.root.write_data(f"{transit.mount}/keys/kek/rotate", data={})
        transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"min_decryption_version": 2})
        fails(shown, lambda: provider.unwrap([(provider.wrap(key, PLACE), PLACE), (wrapped, PLACE)]))
        raw = through_a_keyring(shown, store, provider)
        transit.root.delete(f"{transit.mount}/keys/kek/soft-delete")
        fails(shown, lambda: provider.wrap(key, PLACE))
        fails(shown, lambda: provider.unwrap([(wrapped, PLACE)]))
    assert "POST /v1/" in "\n".join(shown.parts)  # something was logged of the requests
    shown.require_none_of(key.raw, *raw, token, powerless, ended)


@pytest.mark.openbao
def test_k14_a_warming_that_nobody_awaits_shows_nothing(transit: Transit, store: KeyStore) -> None:
    """asyncio logs what a task raised that was thrown away, with its traceback; in debug mode, where it was made."""
    token = transit.token(("keys/*", "read"), ("encrypt/*", "update"), ("decrypt/kek", "update"))
    keyring = Keyring.create(store, transit.provider(token=token), "main")
    raw = [keyring.sealing(purpose).key.secret.raw for purpose in Purpose]
    keyring.close()
    refused = Keyring.open(store, transit.provider("missing", token=token), "main", refresh=False)

    async def throw_away() -> None:
        task = asyncio.create_task(refused.warm_async())
        await asyncio.wait([task])

    with watching() as shown, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(throw_away(), debug=True)
        gc.collect()
        shown.parts += [str(warning.message) for warning in warned]
    assert "exception was never retrieved" in "\n".join(shown.parts)
    shown.require_none_of(token, *raw)


@pytest.mark.openbao
def test_a_server_that_is_sealed_or_gone_or_is_another_shows_nothing(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, key: SecretKey
) -> None:
    with watching() as shown:
        with bao_dev(tmp_path_factory.mktemp("bao")) as server:
            transit = Transit(server, "transit")
            transit.root.sys.enable_secrets_engine("transit")
            transit.create()
            token = transit.token(("keys/*", "read"), ("encrypt/*", "update"), ("decrypt/*", "update"))
            provider = transit.provider(token=token)
            wrapped = provider.wrap(key, PLACE)
            role = AppRoleOnServer.create(transit)
            secret_id = role.secret_id()
            by_role = transit.provider(login=AppRole(role.role_id, SecretText(secret_id), role.mount))
            transit.root.sys.seal()
            for asker in (provider, by_role):
                fails(shown, lambda asker=asker: asker.wrap(key, PLACE))
                fails(shown, lambda asker=asker: asker.unwrap([(wrapped, PLACE)]))
        fails(shown, lambda: provider.unwrap([(wrapped, PLACE)]))
        fails(shown, lambda: provider.wrap(key, PLACE))
        fails(shown, lambda: by_role.wrap(key, PLACE))
        body = f'{{"data": {{"derived": true, "plaintext": "{b64(key.raw)}", "batch_results": ["{b64(key.raw)}"]}}}}'
        for status in (200, 400, 403, 500, 502, 599):
            pem = tmp_path / f"{status}.pem"
            with tls_server(pem, status, body.encode()) as url:
                for trusted in (str(pem), None):
                    uri = f"{url.replace('https', 'hcvault')}/transit/keys/kek"
                    other = open_provider(uri, ProviderSettings(token=SecretText(token), ca_file=trusted, timeout=2))
                    fails(shown, lambda other=other: other.unwrap([(wrapped, PLACE)]))
    shown.require_none_of(key.raw, token, secret_id)


def written(file: Path, text: str, mode: int = 0o600) -> Path:
    file.touch(mode)
    file.chmod(mode)
    file.write_text(text)
    return file


@pytest.mark.openbao
def test_no_login_shows_what_it_logs_in_by(transit: Transit, tmp_path: Path, key: SecretKey) -> None:
    role, authority = AppRoleOnServer.create(transit), Authority(transit)
    secret_id, token, jwt, expired = role.secret_id(), transit.token(), authority.sign(), authority.sign(lives=-300)
    wrong = f"hunter2-{secrets.token_hex(16)}"
    once, twice, stolen = role.wrapping_token(), role.wrapping_token(), transit.token()
    logins: list[Login] = [
        AppRole(role.role_id, SecretText(secret_id), role.mount),
        AppRole(role.role_id, WrappedSecretId(SecretText(once)), role.mount),
        Jwt("app", SecretText(jwt), authority.mount),
    ]
    opened = WrappedSecretId(SecretText(twice))
    transit.root.sys.unwrap(twice)  # by somebody else
    refused: list[Login] = [
        Token(SecretText(token)),
        Token(SecretText(wrong)),
        TokenFile(written(tmp_path / "token", wrong)),
        TokenFile(written(tmp_path / "two lines", f"{wrong}\n{token}")),
        TokenFile(written(tmp_path / "open to all", token, 0o644)),
        AppRole(role.role_id, SecretText(wrong), role.mount),
        AppRole(wrong, SecretText(secret_id), role.mount),
        AppRole(role.role_id, SecretText(secret_id), "nowhere"),
        AppRole(role.role_id, opened, role.mount),
        AppRole(role.role_id, WrappedSecretId(SecretText(stolen)), role.mount),
        Jwt("app", SecretText(expired), authority.mount),
        Jwt("nobody", SecretText(jwt), authority.mount),
        Jwt("app", written(tmp_path / "jwt", f"{jwt} {jwt}"), authority.mount),
        Kubernetes("app", written(tmp_path / "service account", f"{jwt}\n{jwt}"), "kubernetes"),
        Kubernetes("app", written(tmp_path / "another", expired), authority.mount),
        Kubernetes("app", written(tmp_path / "long", jwt * 100), authority.mount),
    ]
    with watching() as shown:
        granted = []
        for login in logins:
            provider = transit.provider(login=login)
            provider.wrap(key, PLACE)
            granted.append(renewed_and_lost(transit, provider))
            everyday(shown, provider, key)
            for held in (provider, login, provider._settings, provider._logins):
                shown.add_object(held)
        for login in refused:
            provider = transit.provider(login=login)
            fails(shown, lambda provider=provider: provider.wrap(key, PLACE))
            fails(shown, lambda provider=provider: provider.unwrap([(Wrapped(b"vault:v1:AAAA", "", "1"), PLACE)]))
            shown.add_object(login)
    assert "/login" in "\n".join(shown.parts)
    shown.require_none_of(key.raw, secret_id, token, jwt, expired, wrong, once, twice, stolen, *granted)


def renewed_and_lost(transit: Transit, provider: TransitProvider) -> str:
    """The token is renewed, looked up and taken away, so that the next request logs in again."""
    held = provider._logins._held
    assert held is not None
    assert provider._logins._renew(held) is not None
    token = held.grant.token.reveal()
    transit.root.auth.token.revoke(token)
    return token


# AWS KMS.


@pytest.fixture
def credentials(aws_login: None, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A secret access key and a session token, as a role has them."""
    secret, session = f"hunter2/{secrets.token_hex(20)}", f"session-{secrets.token_hex(60)}"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_SESSION_TOKEN", session)
    return secret, session


def test_aws_shows_nothing(
    aws: Aws, credentials: tuple[str, str], store: KeyStore, key: SecretKey, tmp_path: Path
) -> None:
    arn = aws.create_key()
    with watching() as shown:
        provider = aws.provider(arn)
        wrapped = everyday(shown, provider, key)
        provider.rewrap([(wrapped, PLACE)])
        fails(shown, lambda: provider.rewrap([(wrapped, PLACE), (wrapped, ELSEWHERE)]))
        raw = through_a_keyring(shown, store, provider)
        fails(shown, lambda: aws.provider(arn[:-4] + "0000").wrap(key, PLACE))
        for other in (
            aws.provider(arn, aws_endpoint="http://127.0.0.1:1"),
            aws.provider(arn, ca_file="/nonexistent.pem"),
        ):
            fails(shown, lambda other=other: other.wrap(key, PLACE))
            fails(shown, lambda other=other: other.unwrap([(wrapped, PLACE)]))
        for code, status in (
            ("DisabledException", 400),
            ("KMSInvalidStateException", 400),
            ("ThrottlingException", 400),
            ("AccessDeniedException", 400),
            ("ExpiredTokenException", 400),
            ("InvalidSignatureException", 403),
            ("ValidationException", 400),
            ("KMSInternalException", 500),
        ):
            with failing(provider, code, status):
                fails(shown, lambda: provider.wrap(key, PLACE))
                fails(shown, lambda: provider.unwrap([(wrapped, PLACE)]))
                fails(shown, lambda: provider.rewrap([(wrapped, PLACE)]))
        spoilt = aws.provider(arn)
        answers(spoilt, "*", injected("x", 200, b'{"KeyId": "other", "Plaintext": "' + b64(key.raw).encode() + b'"}'))
        fails(shown, lambda: spoilt.unwrap([(wrapped, PLACE)]))
        answers(spoilt, "*", injected("x", 400, b"no JSON: " + b64(key.raw).encode()))
        fails(shown, lambda: spoilt.unwrap([(wrapped, PLACE)]))
        with tls_server(tmp_path / "pem", 200, b"{}") as url:
            fails(shown, lambda: aws.provider(arn, aws_endpoint=url).wrap(key, PLACE))
    assert "botocore" in "\n".join(shown.parts)
    shown.require_none_of(key.raw, *raw, *credentials)


# Tokens.


def test_a_token_shows_nothing(token: HardToken, store: KeyStore, key: SecretKey, tmp_path: Path) -> None:
    wrong = f"hunter2-{secrets.token_hex(8)}"
    in_settings = {"pin-source": ""}
    with watching() as shown:
        provider = open_provider(token.uri(), ProviderSettings())
        wrapped = everyday(shown, provider, key)
        raw = through_a_keyring(shown, store, provider)
        by_settings = ProviderSettings(pin=SecretText(PIN))
        shown.add_object(open_provider(token.uri(**in_settings), by_settings))
        shown.add_object(by_settings)
        token.make_key("short", b"\x02", bits=128)
        pins = {name: written(tmp_path / name, text) for name, text in (("two", f"{PIN}\u00e9"), ("none", ""))}
        open_to_all = written(tmp_path / "open", PIN, 0o644)
        for uri, settings in (
            (token.uri("object=missing"), ProviderSettings()),
            (token.uri("object=short"), ProviderSettings()),
            (token.uri(**{"module-path": "/nonexistent.so"}), ProviderSettings()),
            (token.uri().replace(token.label, "nobody"), ProviderSettings()),
        ):
            other = open_provider(uri, settings)
            fails(shown, lambda other=other: other.wrap(key, PLACE))
            fails(shown, lambda other=other: other.unwrap([(wrapped, PLACE)]))
        fails(shown, lambda: open_provider(token.uri(), by_settings))
        token.take_away()
        fails(shown, lambda: provider.wrap(key, PLACE))
        fails(shown, lambda: provider.unwrap([(wrapped, PLACE)]))
        token.bring_back()
        module = provider._module  # type: ignore[attr-defined]
        with module.lock:
            module.start_anew()  # nobody is logged in
        for pin_file in (*pins.values(), open_to_all):
            other = open_provider(token.uri(**{"pin-source": f"file:{pin_file}"}))
            fails(shown, lambda other=other: other.wrap(key, PLACE))
        other = open_provider(token.uri(**in_settings), ProviderSettings(pin=SecretText(wrong)))
        fails(shown, lambda: other.wrap(key, PLACE))
        fails(shown, lambda: other.unwrap([(wrapped, PLACE)]))
        token.run("list(session.get_objects({A.LABEL: 'kek'}))[0].destroy()")
        fails(shown, lambda: provider.unwrap([(wrapped, PLACE)]))
    shown.require_none_of(key.raw, *raw, PIN, wrong)


# Key files.


def test_a_key_file_shows_nothing(store: KeyStore, key: SecretKey, tmp_path: Path) -> None:
    file = tmp_path / "kek"
    create_key_file(file)
    kek = read_key_file(file)
    with watching() as shown:
        provider = open_provider(f"local:{file}")
        everyday(shown, provider, key)
        raw = through_a_keyring(shown, store, provider)
        fails(shown, lambda: open_provider(f"local:{file}", ProviderSettings(passphrase=SecretText("hunter2 hunter2"))))
        fails(shown, lambda: create_key_file(file))
        digits = kek.raw.hex()
        for name, text, mode in (
            ("short", digits[:-2], 0o600),
            ("long", digits + "00", 0o600),
            ("no digits", digits[:-1] + "g", 0o600),
            ("open to all", digits, 0o644),
        ):
            other = written(tmp_path / name, text, mode)
            fails(shown, lambda other=other: open_provider(f"local:{other}"))
    shown.require_none_of(key.raw, *raw, kek.raw, kek.raw[:16], "hunter2 hunter2")


@pytest.mark.parametrize("kdf", CHEAP, ids=["scrypt", "argon2id"])
def test_a_key_file_under_a_passphrase_shows_nothing(kdf: PassphraseKdf, key: SecretKey, tmp_path: Path) -> None:
    passphrase, wrong = (SecretText(f"caf\u00e9 hunter2 {secrets.token_hex(8)}") for _ in range(2))
    file = tmp_path / "kek"
    with watching() as shown:
        create_key_file(file, passphrase=passphrase, kdf=kdf)
        kek = read_key_file(file, passphrase)
        settings = ProviderSettings(passphrase=passphrase)
        everyday(shown, open_provider(f"local:{file}", settings), key)
        shown.add_object(settings)
        fails(shown, lambda: read_key_file(file, wrong))
        fails(shown, lambda: read_key_file(file))
        fails(shown, lambda: create_key_file(tmp_path / "other", passphrase=SecretText(wrong.reveal()[:14])))
        text = file.read_text()
        for name, spoilt in (
            ("damaged", text.replace('"salt":"', '"salt":"00')),
            ("cut", text[:-40]),
            ("huge", text.replace('"kdf"', '"memory_kib":99999999,"kdf"')),
        ):
            other = written(tmp_path / name, spoilt)
            fails(shown, lambda other=other: read_key_file(other, passphrase))
    shown.require_none_of(key.raw, kek.raw, passphrase.reveal(), wrong.reveal(), wrong.reveal()[:14])


# The search itself.


@pytest.mark.parametrize("way", ["message", "attribute", "variable", "context", "log", "pickle"])
def test_what_would_leak_is_found(way: str) -> None:
    secret = secrets.token_bytes(32)
    names: dict[str, Any] = {}
    program = """
import logging
class Leak(Exception): pass
def leak(way, secret, b64):
    error = Leak(b64(secret)) if way == "message" else Leak("nothing")
    if way == "attribute": error.body = secret
    if way == "log": logging.getLogger("x").debug("sent %s", secret.hex())
    if way not in ("variable", "context"): del secret
    if way == "context":
        try:
            raise KeyError(secret.hex())
        except KeyError:
            del secret
            raise error from None
    raise error
"""
    exec(compile(program, "/elsewhere/leak.py", "exec"), names)
    with watching() as shown:
        if way == "pickle":
            shown.add_object([secret])
        else:
            with pytest.raises(Exception) as raised:
                names["leak"](way, secret, b64)
            shown.add_error(raised.value)
    with pytest.raises(AssertionError, match="shown: "):
        shown.require_none_of(secret)
