"""Shredding: everything is erased, what is claimed is true, and who dies in between goes on by calling again."""

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kms.key_store
from kms.errors import KeyDestroyedError, KeyNotFoundError, KeyringError, MisconfiguredError, UnavailableError
from kms.key_record import KeyState, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.lease import LeaseSettings
from kms.provider import KekEnd
from kms.routed_provider import RoutedProvider
from kms.shredding import KekFate, Shredded, shred
from tests.forkserver import PROCESSES
from tests.kms.manual_clock import ManualClock
from tests.kms.mortal_provider import MortalProvider
from tests.kms.rested import retire_and_destroy
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA
HOUR, LEASES = timedelta(hours=1), LeaseSettings()
KEPT = timedelta(days=35)
OTHER = bytes([1] * 32)


@pytest.fixture
def mortal(tmp_path: Path) -> MortalProvider:
    return MortalProvider(tmp_path / "grave")


def kek_of(provider: ScriptedProvider) -> str:
    return provider._real.kek


def test_every_key_is_erased_the_first_ledger_key_too_and_the_tombstones_stay(
    any_store: KeyStore, mortal: MortalProvider
) -> None:
    keyring = Keyring.create(any_store, mortal, "main")
    keyring.lifecycle.rotate(DATA)
    keyring.lifecycle.prepare(DATA)
    others = Keyring.create(any_store, mortal, "others").records()
    ids = [record.key_id for record in keyring.records()]
    done = keyring.lifecycle.shred(confirm="main")
    assert done.erased == 5
    assert [(r.key_id, r.state, r.live) for r in any_store.load("main").records] == [
        (key_id, KeyState.DESTROYED, False) for key_id in ids
    ]
    assert any_store.load("others").records == tuple(others)
    again = keyring.lifecycle.shred(confirm="main")
    assert (again.erased, again.at) == (0, done.at)
    for ask in (
        lambda: keyring.sealing(DATA),
        lambda: keyring.lifecycle.rotate(DATA),
        lambda: keyring.lifecycle.prepare(DATA),
    ):
        with pytest.raises(KeyringError, match="was shredded"):
            ask()


def test_another_name_shreds_nothing(store: KeyStore, keyring: Keyring) -> None:
    before = store.load("main")
    with pytest.raises(KeyringError, match="keyring 'main': confirm that name"):
        keyring.lifecycle.shred(confirm="mian")
    assert store.load("main") == before


def test_without_the_end_of_its_kek_it_is_recoverable_for_as_long_as_backups_are_kept(
    store: KeyStore, mortal: MortalProvider
) -> None:
    done = Keyring.create(store, mortal, "main").lifecycle.shred(confirm="main")
    assert not done.is_crypto_shredded
    assert done.recoverable_until() is done.effective() is None
    assert done.recoverable_until(KEPT) == done.at + KEPT
    assert [(fate.kek, fate.until, fate.end) for fate in done.keks] == [(kek_of(mortal), done.at, None)]


@pytest.mark.parametrize("waits", [False, True])
def test_with_a_kek_of_its_own_it_is_effective_after_the_waiting_period_and_the_hard_lease(
    store: KeyStore, tmp_path: Path, waits: bool
) -> None:
    mortal = MortalProvider(tmp_path / "grave", waits=waits)
    done = Keyring.create(store, mortal, "main").lifecycle.shred(confirm="main", destroy_keks=True)
    assert done.is_crypto_shredded
    (fate,) = done.keks
    assert fate.end is not None
    assert done.effective() == fate.end.effective + HOUR
    assert (fate.end.effective - done.at > timedelta(days=29)) == waits
    assert done.effective(timedelta(days=1)) == (done.at + timedelta(days=1) if waits else fate.end.effective) + HOUR


def test_a_kek_of_two_keyrings_is_never_destroyed_and_nothing_is_erased(
    store: KeyStore, mortal: MortalProvider
) -> None:
    keyring, other = Keyring.create(store, mortal, "main"), Keyring.create(store, mortal, "other")
    with pytest.raises(KeyringError, match="wraps keys of keyring other too, or may: nothing was erased"):
        keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    assert all(record.live for record in keyring.records())
    assert not mortal.grave.exists()
    done = keyring.lifecycle.shred(confirm="main")
    assert [fate.shared_with for fate in done.keks] == [("other",)]
    assert other.lifecycle.shred(confirm="other", destroy_keks=True).is_crypto_shredded  # nobody alive needs it


def test_a_kek_that_another_keyring_left_may_be_needed_by_its_backups(store: KeyStore, mortal: MortalProvider) -> None:
    keyring, other = Keyring.create(store, mortal, "main"), Keyring.create(store, mortal, "other")
    other.lifecycle.move(ScriptedProvider(OTHER))
    with pytest.raises(KeyringError, match="keyring other too"):
        keyring.lifecycle.shred(confirm="main", destroy_keks=True)


def test_a_kek_that_the_keyring_left_before_opens_old_backups_so_it_is_not_claimed(
    store: KeyStore, mortal: MortalProvider
) -> None:
    """Moved from a shared KEK to one of its own: backups from before the move are opened by the shared one."""
    shared = ScriptedProvider(OTHER)
    Keyring.create(store, shared, "other")
    keyring = Keyring.create(store, shared, "main")
    keyring.lifecycle.move(mortal)
    keyring = Keyring.open(store, RoutedProvider(mortal, shared), "main")
    done = keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    fates = {fate.kek: fate for fate in done.keks}
    assert fates[kek_of(mortal)].destroyed
    assert fates[kek_of(shared)].shared_with == ("other",)
    assert not done.is_crypto_shredded
    assert done.recoverable_until() is None
    left = fates[kek_of(shared)].until
    assert left < done.at
    assert done.recoverable_until(KEPT) == left + KEPT


def test_a_kek_of_a_key_that_was_destroyed_before_counts_too(store: KeyStore, mortal: MortalProvider) -> None:
    former = ScriptedProvider(OTHER)
    keyring = Keyring.create(store, former, "main")
    old = keyring.sealing(DATA).key.key_id
    keyring.lifecycle.rotate(DATA)
    retire_and_destroy(keyring, store.engine, old)
    keyring.lifecycle.move(mortal)
    done = Keyring.open(store, mortal, "main").lifecycle.shred(confirm="main", destroy_keks=True)
    assert {fate.kek: fate.destroyed for fate in done.keks} == {kek_of(mortal): True, kek_of(former): False}
    assert not done.is_crypto_shredded


@pytest.mark.parametrize("error", [MisconfiguredError("guarded"), UnavailableError("down")])
def test_what_refuses_beforehand_keeps_everything(store: KeyStore, mortal: MortalProvider, error: Exception) -> None:
    keyring = Keyring.create(store, mortal, "main")
    mortal.guarded = error
    with pytest.raises(type(error), match="nothing was erased"):
        keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    assert all(record.live for record in keyring.records())


def test_a_kek_that_nobody_can_destroy_is_refused_before_anything_is_erased(
    store: KeyStore, provider: ScriptedProvider
) -> None:
    keyring = Keyring.create(store, provider, "main")
    with pytest.raises(KeyringError, match="cannot be destroyed from here: nothing was erased"):
        keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    with pytest.raises(KeyringError, match="cannot be destroyed from here"):
        shred(store, None, store.load("main"), confirm="main", leases=LEASES, destroy_keks=True)
    assert all(record.live for record in keyring.records())
    assert shred(store, None, store.load("main"), confirm="main", leases=LEASES).erased == 3


def test_an_outage_after_the_keys_were_erased_says_so_and_the_next_call_goes_on(
    store: KeyStore, mortal: MortalProvider
) -> None:
    keyring = Keyring.create(store, mortal, "main")

    def down() -> None:
        raise UnavailableError("down")

    mortal.before_end = down
    with pytest.raises(UnavailableError, match=r"the keys are erased, .* is not destroyed yet: down; then type the"):
        keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    assert not any(record.live for record in keyring.records())
    mortal.before_end = lambda: None
    assert keyring.lifecycle.shred(confirm="main", destroy_keks=True).is_crypto_shredded


def test_a_keyring_that_began_to_use_the_kek_meanwhile_keeps_it(store: KeyStore, mortal: MortalProvider) -> None:
    keyring = Keyring.create(store, mortal, "main")
    mortal.asked = lambda: None if "late" in store.names() else Keyring.create(store, mortal, "late")
    with pytest.raises(KeyringError, match=r"the keys are erased; .* stays, since keyring late came to use it"):
        keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    assert not mortal.grave.exists()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def shred_and_die(url: str, grave: str, where: str) -> None:
    store, mortal = KeyStore.from_url(url), MortalProvider(Path(grave), waits=True)
    match where:
        case "asked":
            mortal.asked = die
        case "erased in a transaction that is open":
            lock = kms.key_store.lock_keyring
            kms.key_store.lock_keyring = lambda *arguments: (lock(*arguments), die())  # type: ignore[assignment]
        case "erased, with the log still full":
            kms.key_store.erase_old_pages = lambda _: die()
        case "before the end":
            mortal.before_end = die
        case "after the end":
            mortal.after_end = die
    shred(store, mortal, store.load("main"), confirm="main", leases=LEASES, destroy_keks=True)


@pytest.mark.parametrize(
    ("where", "erased"),
    [
        ("asked", False),
        ("erased in a transaction that is open", False),
        ("erased, with the log still full", True),
        ("before the end", True),
        ("after the end", True),
    ],
)
def test_who_is_killed_between_two_steps_is_completed_by_a_second_run(
    any_store: KeyStore, database_url: str, tmp_path: Path, where: str, erased: bool
) -> None:
    mortal = MortalProvider(tmp_path / "grave", waits=True)
    Keyring.create(any_store, mortal, "main")
    process = PROCESSES.Process(target=shred_and_die, args=(database_url, str(mortal.grave), where))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert {record.live for record in any_store.load("main").records} == {not erased}
    ended = mortal.grave.read_text() if mortal.grave.exists() else None
    assert (ended is not None) == (where == "after the end")
    done = Keyring.open(any_store, mortal, "main").lifecycle.shred(confirm="main", destroy_keks=True)
    assert not any(record.live for record in any_store.load("main").records)
    assert done.is_crypto_shredded
    (fate,) = done.keks
    assert fate.end is not None
    assert ended in {None, fate.end.effective.isoformat()}  # the waiting period does not begin anew


def test_another_process_stops_sealing_and_opening_within_its_leases(
    store: KeyStore, mortal: MortalProvider, clock: ManualClock
) -> None:
    keyring = Keyring.create(store, mortal, "main", clock=clock, refresh=False)
    elsewhere = Keyring.open(store, mortal, "main", clock=clock, refresh=False)
    key = elsewhere.sealing(DATA).key
    keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    with pytest.raises(KeyDestroyedError):
        keyring.opening(DATA, key.key_id)
    assert elsewhere.sealing(DATA).key == key  # it has not read the store since
    clock.advance(121)
    assert elsewhere.opening(DATA, key.key_id) == key  # opening alone reads nothing within the soft lease
    with pytest.raises(KeyringError, match="was shredded"):
        elsewhere.sealing(DATA)
    with pytest.raises(KeyDestroyedError):
        elsewhere.opening(DATA, key.key_id)


def test_one_that_only_opens_stops_when_its_soft_lease_ends(
    store: KeyStore, mortal: MortalProvider, clock: ManualClock
) -> None:
    keyring = Keyring.create(store, mortal, "main", clock=clock, refresh=False)
    elsewhere = Keyring.open(store, mortal, "main", clock=clock, refresh=False)
    key_id = keyring.records(DATA)[0].key_id
    elsewhere.opening(DATA, key_id)
    keyring.lifecycle.shred(confirm="main")
    clock.advance(299)
    elsewhere.opening(DATA, key_id)
    clock.advance(2)
    with pytest.raises(KeyDestroyedError):
        elsewhere.opening(DATA, key_id)


def test_one_that_is_cut_off_from_store_and_service_goes_on_for_the_hard_lease_and_no_longer(
    store: KeyStore, mortal: MortalProvider, clock: ManualClock
) -> None:
    keyring = Keyring.create(store, mortal, "main", clock=clock, refresh=False)
    cut = CutOff(store.engine)
    far = Keyring.open(cut, mortal, "main", clock=clock, refresh=False)
    key = far.sealing(DATA).key
    keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    cut.off, far._unwrapped._provider = True, Down()
    for _ in range(59):
        clock.advance(60)
        assert far.opening(DATA, key.key_id) == key
    clock.advance(61)
    with pytest.raises(UnavailableError):
        far.opening(DATA, key.key_id)


class Down(ScriptedProvider):
    def unwrap(self, wrapped: Any) -> Any:
        raise UnavailableError("down")


class CutOff(KeyStore):
    off = False

    def load_again(self, keyring_id: bytes) -> Any:
        if self.off:
            raise UnavailableError("cut off")
        return super().load_again(keyring_id)


def test_one_whose_service_answers_loses_its_key_when_it_asks_for_it_again(
    store: KeyStore, mortal: MortalProvider, clock: ManualClock
) -> None:
    cut = CutOff(store.engine)
    keyring = Keyring.create(store, mortal, "main", clock=clock, refresh=False)
    far = Keyring.open(cut, mortal, "main", clock=clock, refresh=False)
    key = far.sealing(DATA).key
    keyring.lifecycle.shred(confirm="main", destroy_keks=True)
    cut.off = True
    clock.advance(301)
    with pytest.raises(KeyNotFoundError):
        far.opening(DATA, key.key_id)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
moments = st.integers(-400, 400).map(lambda days: NOON + timedelta(days=days))
ends = st.none() | st.builds(KekEnd, st.just("k"), moments, st.booleans())
fates = st.builds(KekFate, st.just("k"), moments, st.just(()), ends)


def test_one_that_is_cut_off_from_the_store_alone_goes_on_until_held_until_and_no_longer(
    store: KeyStore, mortal: MortalProvider, clock: ManualClock
) -> None:
    keyring, cut = Keyring.create(store, mortal, "main", clock=clock, refresh=False), CutOff(store.engine)
    far = Keyring.open(cut, mortal, "main", clock=clock, refresh=False)
    key_id = keyring.records(DATA)[0].key_id
    far._reload()
    done, cut.off, began = keyring.lifecycle.shred(confirm="main"), True, clock.now
    clock.advance(3599)
    far.opening(DATA, key_id)  # unwrapped at the very end of what it may go by
    clock.advance(299)
    far.opening(DATA, key_id)
    clock.now = began + (done.held_until - done.at).total_seconds()
    with pytest.raises(UnavailableError):
        far.opening(DATA, key_id)
    assert done.held_until - done.at == timedelta(seconds=3900)


@given(keks=st.lists(fates, min_size=1, max_size=4).map(tuple), kept=st.none() | st.integers(0, 500))
def test_nothing_is_claimed_before_every_kek_is_destroyed_or_every_backup_gone(
    keks: tuple[KekFate, ...], kept: int | None
) -> None:
    age = None if kept is None else timedelta(days=kept)
    done = Shredded("main", 0, NOON, LEASES, keks)
    effective = done.effective(age)
    for fate in keks:
        dead = fate.end is not None and fate.end.final
        if effective is None:
            continue
        gone_by_then = dead and fate.end is not None and fate.end.effective <= effective
        assert gone_by_then or (age is not None and fate.until + age <= effective)
    assert done.is_crypto_shredded == all(fate.destroyed for fate in keks)
    if not done.is_crypto_shredded and kept is None:
        assert effective is None
