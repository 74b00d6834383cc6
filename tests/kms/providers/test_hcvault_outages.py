"""A real server that is sealed, frozen, killed, or kept from its audit log: what still works, and what comes back."""

import time
from typing import Any

import hvac
import pytest

from kms.errors import CannotUnwrapError, KeyDisabledError, KmsError, UnavailableError
from kms.key_database import writing
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table
from kms.keyring import Keyring
from kms.logins import AppRole
from kms.patience import Patience
from kms.providers.hcvault import ITEMS_A_REQUEST
from kms.secret import SecretKey, SecretText
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import Transit, while_waiting
from tests.servers.bao_server import BaoServer

pytestmark = pytest.mark.openbao
KEY = SecretKey(bytes(range(32)))
DATA = Purpose.DATA
RETRY_SECONDS = 5.0  # of a keyring, between two tries, also after a refusal


def test_a_sealed_server_is_an_outage_and_serves_again(tls_transit: Transit, bao_tls: BaoServer) -> None:
    provider = tls_transit.provider()
    wrapped = provider.wrap(KEY, b"p")
    bao_tls.seal()
    for call in (lambda: provider.wrap(KEY, b"p"), lambda: provider.unwrap([(wrapped, b"p")])):
        with pytest.raises(UnavailableError, match="sealed or down"):
            call()
    patient = tls_transit.provider(patience=while_waiting(lambda: None, bao_tls.unseal))
    assert patient.unwrap([(wrapped, b"p")]) == [KEY]
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_a_frozen_server_is_an_outage_within_the_timeout_and_serves_again(
    tls_transit: Transit, bao_tls: BaoServer
) -> None:
    provider = tls_transit.provider(timeout=1)
    wrapped = provider.wrap(KEY, b"p")
    bao_tls.freeze()
    begun = time.monotonic()
    for call in (
        lambda: provider.unwrap([(wrapped, b"p")]),  # over the connection that there is
        lambda: tls_transit.provider(timeout=1).unwrap([(wrapped, b"p")]),  # over a new one
    ):
        with pytest.raises(UnavailableError, match="does not answer"):
            call()
    assert time.monotonic() - begun < 8
    patient = tls_transit.provider(patience=while_waiting(bao_tls.thaw), timeout=1)
    assert patient.unwrap([(wrapped, b"p")]) == [KEY]
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_one_call_outlives_kill_9_restart_and_unsealing(raft_transit: Transit, bao_raft: BaoServer) -> None:
    provider = raft_transit.provider(patience=while_waiting(bao_raft.restart, bao_raft.unseal))
    wrapped = provider.wrap(KEY, b"p")
    bao_raft.kill9()
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_an_audit_log_that_cannot_be_written_is_an_outage(tls_transit: Transit, bao_tls: BaoServer) -> None:
    provider = tls_transit.provider()
    wrapped = provider.wrap(KEY, b"p")
    bao_tls.block_audit_log()
    with pytest.raises(UnavailableError, match="is failing"):
        provider.unwrap([(wrapped, b"p")])
    patient = tls_transit.provider(patience=while_waiting(bao_tls.unblock_audit_log))
    assert patient.unwrap([(wrapped, b"p")]) == [KEY]


def test_a_rate_limit_is_waited_for(tls_transit: Transit) -> None:
    provider = tls_transit.provider(patience=Patience(deadline=20))
    wrapped = provider.wrap(KEY, b"p")
    quota = f"sys/quotas/rate-limit/{tls_transit.mount}"
    tls_transit.root.write_data(quota, data={"path": tls_transit.mount, "rate": 1, "interval": "1s"})
    try:
        assert provider.unwrap([(wrapped, b"p")] * 3 * ITEMS_A_REQUEST) == [KEY] * 3 * ITEMS_A_REQUEST
    finally:
        tls_transit.root.delete(quota)


def test_k13_01_a_token_that_ends_in_an_outage_is_replaced_after_it(tls_transit: Transit, bao_tls: BaoServer) -> None:
    role = AppRoleOnServer.create(tls_transit, token_ttl="2s", token_max_ttl="2s")
    login = AppRole(role.role_id, SecretText(role.secret_id()), role.mount)
    provider = tls_transit.provider(login=login, timeout=1)
    wrapped = provider.wrap(KEY, b"p")
    bao_tls.freeze()
    end = time.monotonic() + 2.2
    while time.monotonic() < end:
        with pytest.raises(UnavailableError):
            provider.unwrap([(wrapped, b"p")])
    bao_tls.thaw()
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


def test_a_keyring_lives_through_kill_9_within_the_hard_lease_and_recovers_by_itself(
    raft_transit: Transit, bao_raft: BaoServer, store: KeyStore, clock: ManualClock
) -> None:
    keyring = Keyring.create(store, raft_transit.provider(), "main", clock=clock, refresh=False)
    key = keyring.sealing(DATA).key

    def uses_its_key() -> bool:
        return keyring.sealing(DATA).key == key and keyring.opening(DATA, key.key_id) == key

    bao_raft.kill9()
    for _ in range(11):
        clock.advance(300)
        assert uses_its_key()
    bao_raft.restart()  # sealed
    clock.advance(200)
    assert uses_its_key()
    bao_raft.unseal()
    clock.advance(RETRY_SECONDS)
    assert uses_its_key()
    bao_raft.kill9()
    clock.advance(3590)  # the lease counts from when the server was back
    assert uses_its_key()


def test_an_outage_longer_than_the_hard_lease_fails_closed_and_ends_by_itself(
    raft_transit: Transit, bao_raft: BaoServer, store: KeyStore, clock: ManualClock
) -> None:
    keyring = Keyring.create(store, raft_transit.provider(), "main", clock=clock, refresh=False)
    key = keyring.sealing(DATA).key
    bao_raft.kill9()
    clock.advance(3599)
    assert keyring.opening(DATA, key.key_id) == key
    clock.advance(1)
    for use in (
        lambda: keyring.opening(DATA, key.key_id),
        lambda: keyring.sealing(DATA),
        keyring.warm,
        keyring.lifecycle.check,
    ):
        with pytest.raises(UnavailableError):
            use()
    bao_raft.restart()
    with pytest.raises(UnavailableError):
        keyring.opening(DATA, key.key_id)
    bao_raft.unseal()
    clock.advance(RETRY_SECONDS)
    assert keyring.opening(DATA, key.key_id) == key
    assert keyring.sealing(DATA).key == key


def test_k13_08_a_soft_deleted_key_is_told_as_disabled_and_not_as_damage(
    tls_transit: Transit, store: KeyStore, clock: ManualClock
) -> None:
    keyring = Keyring.create(store, tls_transit.provider(), "main", clock=clock, refresh=False)
    key = keyring.sealing(DATA).key
    tls_transit.root.delete(f"{tls_transit.mount}/keys/kek/soft-delete")
    clock.advance(299)
    assert keyring.opening(DATA, key.key_id) == key
    clock.advance(1)
    fresh = Keyring.open(store, tls_transit.provider(), "main", clock=clock, refresh=False)
    for use in (lambda: keyring.opening(DATA, key.key_id), lambda: fresh.sealing(DATA), fresh.lifecycle.rewrap):
        with pytest.raises(KeyDisabledError, match="is soft-deleted: run `bao write -f") as raised:
            use()
        assert tls_transit.uri() in str(raised.value)
    assert [type(error) for _, error in fresh.lifecycle.check()] == [KeyDisabledError] * 3
    tls_transit.root.write_data(f"{tls_transit.mount}/keys/kek/soft-delete-restore", data={})
    assert fresh.lifecycle.check() == []
    clock.advance(RETRY_SECONDS)
    assert keyring.opening(DATA, key.key_id) == key


@pytest.mark.parametrize("status", [200, 400])
def test_k13_03_of_five_keys_the_third_is_refused_and_no_other_takes_its_place(
    tls_transit: Transit, store: KeyStore, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """The server says so of the item, in an answer of status 200, or by 400 and with the others' keys in the answer."""
    monkeypatch.setattr("kms.providers.hcvault.PARTIAL_FAILURE_STATUS", status)
    provider = tls_transit.provider()
    keyring = Keyring.create(store, provider, "main")
    for _ in range(4):
        keyring.lifecycle.rotate(DATA)
    records = keyring.records(DATA)
    keys = {record.key_id: keyring.opening(DATA, record.key_id) for record in records}
    assert len({key.secret.raw for key in keys.values()}) == 5
    third, fourth = records[2], records[3]
    assert fourth.wrapped is not None
    with writing(store.engine) as connection:  # its neighbour's bytes, which open elsewhere
        row = key_table.c.key_id == third.key_id
        connection.execute(key_table.update().where(row).values(wrapped=fourth.wrapped.ciphertext))
    fresh = Keyring.open(store, provider, "main")
    with pytest.raises(CannotUnwrapError, match="does not authenticate"):
        provider.unwrap([(record.wrapped, record.context) for record in fresh.records(DATA) if record.wrapped])
    assert [(record.key_id, type(error)) for record, error in fresh.lifecycle.check()] == [
        (third.key_id, CannotUnwrapError)
    ]
    assert fresh.warm() == {record.key_id for record in fresh.records()} - {third.key_id}
    for key_id, key in keys.items():
        if key_id != third.key_id:
            assert fresh.opening(DATA, key_id) == key
    with pytest.raises(CannotUnwrapError):
        fresh.opening(DATA, third.key_id)
    good = [record for record in fresh.records(DATA) if record.key_id != third.key_id]
    for order in (good, good[::-1]):
        pairs = [(record.wrapped, record.context) for record in order if record.wrapped]
        assert provider.unwrap(pairs) == [keys[record.key_id].secret for record in order]


def test_a_server_killed_between_two_chunks_of_a_rewrap_loses_no_key(
    raft_transit: Transit, bao_raft: BaoServer, store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = Keyring.create(store, raft_transit.provider(), "main")
    for _ in range(ITEMS_A_REQUEST):
        keyring.lifecycle.rotate(DATA)
    before = keyring.records()
    keys = {record.key_id: keyring.opening(record.purpose, record.key_id) for record in before}
    assert len(keys) > ITEMS_A_REQUEST
    raft_transit.root.write_data(f"{raft_transit.mount}/keys/kek/rotate", data={})
    write, chunks = hvac.Client.write_data, []

    def killing(client: hvac.Client, path: str, **kwargs: Any) -> Any:
        if "/rewrap/" in path:
            chunks.append(path)
            if len(chunks) == 2:
                bao_raft.kill9()
        return write(client, path, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(hvac.Client, "write_data", killing)
        with pytest.raises(UnavailableError, match="does not answer"):
            keyring.lifecycle.rewrap()
    assert len(chunks) == 2
    assert keyring.records() == before
    bao_raft.restart()
    with pytest.raises(UnavailableError, match="sealed"):
        keyring.lifecycle.rewrap()
    bao_raft.unseal()
    assert keyring.lifecycle.check() == []
    assert len(keyring.lifecycle.rewrap()) == len(keys)
    fresh = Keyring.open(store, raft_transit.provider(), "main")
    assert {record.wrapped.kek_version for record in fresh.records() if record.wrapped is not None} == {"2"}
    assert fresh.lifecycle.check() == []
    assert {record.key_id: fresh.opening(record.purpose, record.key_id) for record in fresh.records()} == keys


def test_no_refusal_is_asked_for_again(tls_transit: Transit) -> None:
    waits: list[float] = []
    provider = tls_transit.provider(patience=Patience(sleep=waits.append))
    wrapped = provider.wrap(KEY, b"p")
    for call in (
        lambda: provider.unwrap([(wrapped, b"elsewhere")]),
        lambda: tls_transit.provider("missing", patience=Patience(sleep=waits.append)).wrap(KEY, b"p"),
        lambda: tls_transit.provider(token="wrong", patience=Patience(sleep=waits.append)).wrap(KEY, b"p"),
    ):
        with pytest.raises(KmsError):
            call()
    assert waits == []
