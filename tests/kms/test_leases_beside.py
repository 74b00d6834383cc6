"""What lies beside the keys is relied on for a sealing lease, and renewed with the keyring's own."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kms.errors import LeaseExpiredError, UnavailableError
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock


@dataclass(frozen=True)
class News:
    name: str


class Shelf:
    """The n-th reading gives news called n."""

    def __init__(self) -> None:
        self.reads = 0
        self.told = 0
        self.fail: Exception | None = None
        self.after: Callable[[], None] = lambda: None

    def __call__(self) -> News:
        if self.fail is not None:
            raise self.fail
        self.reads += 1
        return News(str(self.reads))

    def let_go(self) -> None:
        self.told += 1


def test_a_lease_beside_ends_as_the_keyrings_own_and_is_renewed_by_its_thread(
    keyring: Keyring, clock: ManualClock
) -> None:
    shelf = Shelf()
    lease = keyring.beside.lease(shelf, shelf.let_go)
    start = clock()
    assert lease.for_sealing()[0] == News("1")
    while shelf.reads == 1:
        clock.advance(keyring._refresh.step())
    assert start + 90 <= lease.asked <= start + 120.1
    assert shelf.told == 2
    shelf.fail = UnavailableError("down")
    clock.advance(lease.asked + 179 - clock())
    assert lease.for_sealing()[0] == News("2")
    clock.advance(1)
    with pytest.raises(LeaseExpiredError):
        lease.for_sealing()


@pytest.mark.parametrize("fault", [UnavailableError("down"), ValueError("not what it should be")])
def test_a_reading_that_fails_in_the_background_is_tried_again_after_five_seconds(
    keyring: Keyring, clock: ManualClock, fault: Exception
) -> None:
    shelf = Shelf()
    lease = keyring.beside.lease(shelf, shelf.let_go)
    clock.advance(130)
    shelf.fail = fault
    assert keyring.beside.renew() == clock() + 5
    clock.advance(4)
    keyring.beside.renew()
    shelf.fail = None
    assert shelf.reads == 1
    clock.advance(1)
    keyring.beside.renew()
    assert lease.for_sealing()[0] == News("2")


def test_what_is_kept_is_made_once_and_ends_with_all_leases(keyring: Keyring, clock: ManualClock) -> None:
    shelf = Shelf()
    first = keyring.beside.once("shelf", lambda: keyring.beside.lease(shelf, shelf.let_go))
    assert keyring.beside.once("shelf", lambda: pytest.fail("made twice")) is first
    keyring.beside.end()
    assert shelf.told == 2
    assert first.for_sealing()[0] == News("2")
    keyring.beside.forget_after_fork()
    assert first.for_sealing()[0] == News("2")
