"""What a backup needs, what does not unwrap by now, and what would come back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kms.backup_check import BackupCheck, KekNeed, check_backup
from kms.errors import CannotUnwrapError, KeyVersionRetiredError, UnavailableError
from kms.key_backup import read_keyrings
from kms.key_record import KeyringState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.routed_provider import RoutedProvider
from tests.kms.rested import retire_and_destroy
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA


def check(store: KeyStore, backup: list[KeyringState], provider: ScriptedProvider | RoutedProvider) -> BackupCheck:
    return check_backup(backup, read_keyrings(store.engine), provider, store.load("main").keyring_id)


def test_versions_of_the_backup_and_of_the_store_are_needed(store: KeyStore) -> None:
    provider = RewrappingProvider()
    keyring = Keyring.create(store, provider, "main")
    provider.version = 2
    keyring.lifecycle.rotate(DATA)
    backup = read_keyrings(store.engine)
    provider.version = 10
    keyring.lifecycle.rewrap()
    done = check(store, backup, provider)
    kek = provider._real.kek
    assert done.needs == (
        KekNeed(kek, "1", 3, 0, True),
        KekNeed(kek, "2", 1, 0, True),
        KekNeed(kek, "10", 0, 4, False),
    )
    assert done.keep() == {kek: "1"}
    assert (done.keys, done.failures, done.come_back, done.unknown) == (4, (), (), ())
    provider.oldest = 2
    failed = check(store, backup, provider)
    assert {record.wrapped.kek_version for record, _ in failed.failures if record.wrapped} == {"1"}
    assert all(isinstance(error, KeyVersionRetiredError) for _, error in failed.failures)
    assert len(failed.failures) == 3


def test_a_key_that_was_destroyed_since_would_come_back(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, "main")
    old = keyring.sealing(DATA).key.key_id
    backup = read_keyrings(store.engine)
    keyring.lifecycle.rotate(DATA)
    later = read_keyrings(store.engine)
    retire_and_destroy(keyring, store.engine, old)
    assert [record.key_id for record in check(store, backup, provider).come_back] == [old]
    done = check_backup(later, backup, provider, keyring.id)  # as if the store itself had been restored
    assert [record.sequence for record in done.unknown] == [2]


def test_keys_moved_since_need_the_former_kek(store: KeyStore, provider: ScriptedProvider) -> None:
    new = ScriptedProvider(bytes([1] * 32))
    keyring = Keyring.create(store, provider, "main")
    backup = read_keyrings(store.engine)
    keyring.lifecycle.move(new)
    done = check(store, backup, RoutedProvider(new))
    assert len(done.failures) == 3
    assert all(isinstance(error, CannotUnwrapError) for _, error in done.failures)
    assert check(store, backup, RoutedProvider(new, provider)).failures == ()
    assert done.keep() == {provider._real.kek: "1", new._real.kek: "1"}


def test_other_keyrings_count_where_they_share_the_kek_and_are_not_asked_for_where_not(store: KeyStore) -> None:
    shared, own = RewrappingProvider(), ScriptedProvider(bytes([1] * 32))
    Keyring.create(store, shared, "old tenant")
    shared.version = 3
    Keyring.create(store, shared, "main")
    Keyring.create(store, own, "tenant with its own")
    done = check(store, read_keyrings(store.engine), shared)
    assert done.keep()[shared._real.kek] == "1"
    assert done.failures == ()
    assert {need.kek: need.asked for need in done.needs} == {shared._real.kek: True, own._real.kek: False}


def test_an_outage_is_an_outage(store: KeyStore, provider: ScriptedProvider) -> None:
    Keyring.create(store, provider, "main")
    provider.fail = UnavailableError("down")
    with pytest.raises(UnavailableError):
        check(store, read_keyrings(store.engine), provider)


def kept(versions: list[str]) -> str | None:
    needs = tuple(KekNeed("k", version, 1, 0, True) for version in versions)
    return BackupCheck(1, needs, (), (), ()).keep()["k"]


@given(versions=st.lists(st.integers(1, 200), min_size=1, unique=True))
@example(versions=[10, 9])  # as text, 10 comes before 9
def test_the_lowest_version_by_number_is_kept(versions: list[int]) -> None:
    assert kept([str(version) for version in versions]) == str(min(versions))


@pytest.mark.parametrize("strange", ["not told", "²", "", "-1", "a" * 64])
def test_where_versions_have_no_order_all_are_kept(strange: str) -> None:
    assert kept(["3", strange]) is kept([strange]) is None
