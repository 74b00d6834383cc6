"""A keyring whose key-encryption key is on a real token: from its making to the day the token is gone."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import text

from kms.errors import CannotUnwrapError, KeyNotFoundError, UnavailableError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.lease import LeaseSettings
from kms.open_provider import open_provider
from kms.provider import KeyProvider, Wrapped
from kms.secret import SecretKey
from tests.kms.manual_clock import ManualClock
from tests.servers.softhsm import Token

DATA = Purpose.DATA
NONCE = bytes(12)
OTHER_PROCESS = """
import json, sys
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from kms import Keyring, KeyStore, Purpose, open_provider
url, uri, key_id, sealed = sys.argv[1:]
keyring = Keyring.open(KeyStore.from_url(url), open_provider(uri), "clinic")
key = keyring.opening(Purpose.DATA, bytes.fromhex(key_id))
print(AESGCM(key.secret.raw).decrypt(bytes(12), bytes.fromhex(sealed), None).decode())
"""


class Counted:
    """A provider, and how often it is asked."""

    def __init__(self, provider: KeyProvider) -> None:
        self._provider = provider
        self.calls = 0

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        self.calls += 1
        return self._provider.wrap(key, context)

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        self.calls += 1
        return self._provider.unwrap(wrapped)


def seal(keyring: Keyring, plaintext: bytes) -> tuple[bytes, bytes]:
    key = keyring.sealing(DATA).key
    return key.key_id, AESGCM(key.secret.raw).encrypt(NONCE, plaintext, None)


def test_what_one_process_seals_another_opens_over_a_rotation(store: KeyStore, token: Token) -> None:
    keyring = Keyring.create(store, open_provider(token.uri()), "clinic")
    before = seal(keyring, b"before")
    keyring.lifecycle.rotate(DATA)
    after = seal(keyring, b"after")
    assert before[0] != after[0]
    for (key_id, sealed), plaintext in [(before, "before"), (after, "after")]:
        arguments = [str(store.engine.url), token.uri(), key_id.hex(), sealed.hex()]
        opened = subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, *arguments], capture_output=True, text=True, check=True, timeout=60
        )
        assert opened.stdout.strip() == plaintext
    assert {r.wrapped.kek for r in keyring.records() if r.wrapped} == {
        f"pkcs11:serial={token.serial};id=%01;object=kek"
    }
    assert keyring.warm() == {r.key_id for r in keyring.records()}


def test_wrapped_bytes_copied_over_anothers_are_refused(store: KeyStore, token: Token) -> None:
    keyring = Keyring.create(store, open_provider(token.uri()), "clinic")
    old = keyring.sealing(DATA).key.key_id
    new = keyring.lifecycle.rotate(DATA).key_id
    with store.engine.begin() as connection:
        copy = "UPDATE noisevault_key SET wrapped = (SELECT wrapped FROM noisevault_key WHERE key_id = :old)"
        connection.execute(text(f"{copy} WHERE key_id = :new"), {"old": old, "new": new})
    again = Keyring.open(store, open_provider(token.uri()), "clinic")
    with pytest.raises(CannotUnwrapError, match="changed or moved"):
        again.sealing(DATA)
    assert again.opening(DATA, old).key_id == old
    assert new not in again.warm()


def test_after_the_first_unwrap_a_thousand_seals_ask_the_token_nothing(store: KeyStore, token: Token) -> None:
    Keyring.create(store, open_provider(token.uri()), "clinic")
    provider = Counted(open_provider(token.uri()))
    keyring = Keyring.open(store, provider, "clinic")
    seal(keyring, b"first")
    assert provider.calls == 1
    token.take_away()
    sealed = [seal(keyring, b"more") for _ in range(1000)]
    assert len(sealed) == 1000
    assert provider.calls == 1
    token.bring_back()


def test_a_token_that_is_away_is_lived_through_until_the_hard_lease(
    store: KeyStore, token: Token, clock: ManualClock
) -> None:
    leases = LeaseSettings()
    keyring = Keyring.create(store, open_provider(token.uri()), "clinic", leases=leases, clock=clock, refresh=False)
    key_id, _ = seal(keyring, b"")
    token.take_away()
    clock.now += leases.unwrapped_soft + 1
    assert keyring.opening(DATA, key_id).key_id == key_id
    clock.now += leases.unwrapped_hard
    with pytest.raises(UnavailableError, match="not there any more"):
        keyring.opening(DATA, key_id)
    token.bring_back()
    assert keyring.opening(DATA, key_id).key_id == key_id


def test_a_key_that_is_deleted_on_the_token_ends_at_the_soft_lease(
    store: KeyStore, token: Token, clock: ManualClock
) -> None:
    leases = LeaseSettings()
    keyring = Keyring.create(store, open_provider(token.uri()), "clinic", leases=leases, clock=clock, refresh=False)
    key_id, _ = seal(keyring, b"")
    token.run("session.get_key(label='kek').destroy()")
    clock.now += leases.unwrapped_soft + 1
    with pytest.raises(KeyNotFoundError):
        keyring.opening(DATA, key_id)


def test_a_wrong_pin_stops_the_start_and_nothing_else(store: KeyStore, token: Token, tmp_path: Path) -> None:
    Keyring.create(store, open_provider(token.uri()), "clinic")
    wrong = tmp_path / "wrong.pin"
    wrong.touch(0o600)
    wrong.write_text("9999\n")
    program = (
        "import sys; from kms import Keyring, KeyStore, Purpose, open_provider, AccessDeniedError\n"
        "keyring = Keyring.open(KeyStore.from_url(sys.argv[1]), open_provider(sys.argv[2]), 'clinic')\n"
        "try: keyring.sealing(Purpose.DATA)\n"
        "except AccessDeniedError as error: print('denied:', error)"
    )
    uri = token.uri(**{"pin-source": f"file:{wrong}"})
    command = [sys.executable, "-c", program, str(store.engine.url), uri]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith("denied: the token refuses the PIN")
    assert Keyring.open(store, open_provider(token.uri()), "clinic").sealing(DATA)
