import os
import threading
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kms.errors import LeaseExpiredError, SealLimitError
from kms.key_record import Purpose
from tests.kms.manual_clock import ManualClock
from tests.vault.fixed_keyring import FixedKeyring
from tests.vault.vector_cases import cases, definition_of, row_of, value_of
from vault.codecs import codec_named
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import framed_context
from vault.sealed.envelope import SealedValue
from vault.sealed.sealing import BLOCK_SEALS, CHUNK_VALUES, Sealing

NAME = FieldDefinition("patients", "name", "str/1")
OLD, NEW = b"old\x01", b"new\x02"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def keyring(clock: ManualClock) -> FixedKeyring:
    return FixedKeyring({OLD: bytes(range(32))}, clock=clock)


def sealing_of(keyring: Any, **more: Any) -> Sealing:
    return Sealing(NAME, keyring, **more)


@pytest.mark.parametrize("test", cases("sealed_value", "valid"))
def test_values_are_sealed_as_published(test: dict[str, Any]) -> None:
    definition = definition_of(test["field"])
    ((key_id, raw),) = test["keys"].items()
    keyring: Any = FixedKeyring({bytes.fromhex(key_id): bytes.fromhex(raw)}, keyring_id=bytes.fromhex(test["keyring"]))
    sealing = Sealing(definition, keyring, random=lambda n: (bytes.fromhex(test["nonce"]) * n)[:n])
    data = codec_named(definition.codec).encode(value_of(test["value"]))
    context = framed_context(definition.bound)(row_of(test["row"])) if definition.bound else None
    assert sealing.seal(data, context).hex() == test["sealed"]
    assert [s.hex() for s in sealing.seal_many([data], None if context is None else [context])] == [test["sealed"]]


def test_k08_07_the_same_value_is_never_sealed_alike(keyring: FixedKeyring) -> None:
    sealing = sealing_of(keyring)
    sealed = [sealing.seal(b"x") for _ in range(1000)] + sealing.seal_many([b"x"] * (CHUNK_VALUES + 1000))
    assert len(set(sealed)) == len({SealedValue.parse(s).nonce for s in sealed}) == CHUNK_VALUES + 2000


def test_seals_are_counted_before_they_are_made_one_by_one_or_in_batches(keyring: FixedKeyring) -> None:
    made = 0

    def random(n: int) -> bytes:
        nonlocal made
        made += n // 12
        assert keyring.reserved[OLD, "patients.name"] >= made, "a kill here would under-count"
        return os.urandom(n)

    sealing = sealing_of(keyring, random=random)
    for _ in range(BLOCK_SEALS + 1):
        sealing.seal(b"x")
    sealing.seal_many([b"x"] * (CHUNK_VALUES + 7))
    sealing.seal_many([])
    assert made == BLOCK_SEALS + 1 + CHUNK_VALUES + 7
    assert keyring.reserved[OLD, "patients.name"] == 2 * BLOCK_SEALS + CHUNK_VALUES + 7


@settings(max_examples=25)
@given(st.lists(st.integers(-1, 40), max_size=20))
def test_however_single_and_bulk_seals_mix_none_is_uncounted(steps: list[int]) -> None:
    keyring = FixedKeyring({OLD: bytes(32)})
    sealing = sealing_of(keyring)
    made = 0
    for step in steps:
        made += len([sealing.seal(b"")] if step < 0 else sealing.seal_many([b""] * step))
        assert keyring.reserved.total() >= made


def test_threads_together_never_make_more_seals_than_are_counted(keyring: FixedKeyring) -> None:
    sealing = sealing_of(keyring)
    made: list[bytes] = []
    go = threading.Barrier(4)

    def work() -> None:
        go.wait()
        mine = [sealing.seal(b"x") for _ in range(3000)] + sealing.seal_many([b"x"] * 100)
        made.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = keyring.reserved[OLD, "patients.name"]
    assert len(set(made)) == 12_400
    assert 12_400 <= counted < 12_400 + BLOCK_SEALS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_counts_its_own_seals_and_does_not_wait_for_its_parents_locks(keyring: FixedKeyring) -> None:
    sealing = sealing_of(keyring)
    sealing.seal(b"x")  # BLOCK_SEALS - 1 are left, and are the parent's
    read_end, write_end = os.pipe()
    with sealing._lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            sealed = sealing.seal(b"x")
            os.write(write_end, bytes((len(keyring.reservations),)) + sealed)
            os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(read_end, 1000)
    os.close(read_end)
    os.close(write_end)
    assert answer[0] == 2, "the child reserved a block of its own"
    assert answer[1:] != sealing.seal(b"x")
    assert keyring.reservations == [BLOCK_SEALS], "the parent still has its block"


def test_a_rotation_that_the_keyring_knows_of_is_followed_at_once(keyring: FixedKeyring) -> None:
    sealing = sealing_of(keyring)
    assert SealedValue.parse(sealing.seal(b"x")).key_id == OLD
    keyring.add(NEW, bytes(32))
    assert SealedValue.parse(sealing.seal(b"x")).key_id == NEW
    assert {SealedValue.parse(s).key_id for s in sealing.seal_many([b"x"] * 3)} == {NEW}
    assert keyring.reserved[NEW, "patients.name"] == BLOCK_SEALS + 3


def test_the_keyring_is_asked_again_when_the_lease_is_over(keyring: FixedKeyring, clock: ManualClock) -> None:
    sealing = sealing_of(keyring)
    sealing.seal(b"x")
    clock.advance(keyring.lease)

    def expired(purpose: Purpose) -> Any:
        raise LeaseExpiredError("the store does not answer")

    keyring.sealing = expired  # type: ignore[method-assign]
    sealing._sealing_key = expired
    for attempt in (lambda: sealing.seal(b"x"), lambda: sealing.seal_many([b"x"])):
        with pytest.raises(LeaseExpiredError):
            attempt()


@pytest.mark.parametrize("bulk", [False, True])
def test_a_key_that_changes_whenever_seals_are_counted_is_not_used(keyring: FixedKeyring, bulk: bool) -> None:
    keyring.before_reserve = keyring.unwrap_again
    sealing = sealing_of(keyring)
    with pytest.raises(LeaseExpiredError, match=r"patients\.name"):
        sealing.seal_many([b"x"])
    keyring.before_reserve = lambda: None
    assert sealing.seal_many([b"x"]) if bulk else sealing.seal(b"x")


@pytest.mark.parametrize("bulk", [False, True])
def test_a_lease_that_cannot_be_had_anew_after_counting_seals_nothing(keyring: FixedKeyring, bulk: bool) -> None:
    sealing = sealing_of(keyring, random=lambda n: pytest.fail("a nonce was drawn"))

    def expired(purpose: Purpose) -> Any:
        raise LeaseExpiredError("the store does not answer")

    def expire() -> None:
        sealing._sealing_key = expired

    keyring.before_reserve = expire
    with pytest.raises(LeaseExpiredError):
        sealing.seal_many([b"x"]) if bulk else sealing.seal(b"x")


@pytest.mark.parametrize("bulk", [False, True])
def test_a_rotation_while_seals_are_counted_is_followed(keyring: FixedKeyring, bulk: bool) -> None:
    rotations = iter([NEW])

    def rotate() -> None:
        for key_id in rotations:
            keyring.add(key_id, bytes(32))

    keyring.before_reserve = rotate
    sealing = sealing_of(keyring)
    (sealed,) = sealing.seal_many([b"x"]) if bulk else [sealing.seal(b"x")]
    assert SealedValue.parse(sealed).key_id == NEW
    assert keyring.reserved[NEW, "patients.name"] >= 1


def test_a_lease_whose_end_has_passed_is_good_for_the_call_at_hand(keyring: FixedKeyring) -> None:
    keyring.lease = -1.0  # as while another thread asks for news
    sealing = sealing_of(keyring)
    assert len({sealing.seal(b"x") for _ in range(10)} | set(sealing.seal_many([b"x"]))) == 11


def test_a_key_that_is_unwrapped_again_goes_on_with_its_block(keyring: FixedKeyring) -> None:
    sealing = sealing_of(keyring)
    sealing.seal(b"x")
    keyring.unwrap_again()
    sealing.seal(b"x")
    assert keyring.reservations == [BLOCK_SEALS]


def test_a_key_at_its_limit_seals_nothing(keyring: FixedKeyring) -> None:
    def full() -> None:
        raise SealLimitError(OLD, "patients.name", 2**32)

    keyring.before_reserve = full
    sealing = sealing_of(keyring)
    for attempt in (lambda: sealing.seal(b"x"), lambda: sealing.seal_many([b"x"])):
        with pytest.raises(SealLimitError):
            attempt()
