"""An unknown id is remembered alone, shortly, and not without bound."""

from kms.unknown_ids import MOST_REMEMBERED, UnknownIds
from tests.kms.manual_clock import ManualClock


def test_an_id_is_unknown_for_five_seconds_and_alone(clock: ManualClock) -> None:
    unknown = UnknownIds(clock)
    assert not unknown.is_known_unknown(b"aaaa")
    unknown.remember(b"aaaa")
    clock.advance(4.9)
    assert unknown.is_known_unknown(b"aaaa")
    assert not unknown.is_known_unknown(b"bbbb")
    clock.advance(0.1)
    assert not unknown.is_known_unknown(b"aaaa")


def test_what_is_remembered_is_bounded(clock: ManualClock) -> None:
    unknown = UnknownIds(clock)
    for number in range(3 * MOST_REMEMBERED):
        unknown.remember(number.to_bytes(4, "big"))
    assert len(unknown._until) <= MOST_REMEMBERED


def test_a_forked_child_begins_anew(clock: ManualClock) -> None:
    unknown = UnknownIds(clock)
    unknown.remember(b"aaaa")
    unknown.forget_after_fork()
    assert not unknown.is_known_unknown(b"aaaa")
