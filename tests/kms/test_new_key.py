"""A new key is wrapped for its place and has an id of its own."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from kms.errors import CannotUnwrapError, KeyringError
from kms.key_record import KeyState, Purpose
from kms.new_key import draw_key_id, new_key
from kms.provider import Wrapped
from kms.secret import SecretKey
from tests.kms.scripted_provider import ScriptedProvider


def drawing(*ids: bytes) -> Callable[[int], bytes]:
    source: Iterator[bytes] = iter(ids)
    return lambda size: next(source)


def test_an_id_is_neither_zero_nor_taken() -> None:
    assert draw_key_id(drawing(bytes(4), b"aaaa", bytes(4), b"bbbb"), {b"aaaa"}) == b"bbbb"


def test_a_source_that_repeats_itself_is_not_trusted() -> None:
    with pytest.raises(KeyringError, match="broken"):
        draw_key_id(bytes, set())
    with pytest.raises(KeyringError, match="broken"):
        draw_key_id(lambda size: b"aaaa", {b"aaaa"})


def test_a_new_key_opens_in_its_place() -> None:
    provider, now = ScriptedProvider(), datetime(2026, 1, 1, tzinfo=UTC)
    record = new_key(
        provider,
        keyring_id=bytes(16),
        purpose=Purpose.DATA,
        key_id=b"abcd",
        sequence=3,
        state=KeyState.ACTIVE,
        now=now,
        random=lambda size: b"\7" * size,
    )
    assert record.wrapped is not None
    assert provider.unwrap([(record.wrapped, record.context)]) == [SecretKey(b"\7" * 32)]
    assert (record.sequence, record.created_at, record.changed_at) == (3, now, now)


class Forgetful(ScriptedProvider):
    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        return super().wrap(SecretKey(bytes(32)), context)


def test_a_provider_that_does_not_give_back_the_key_makes_none() -> None:
    with pytest.raises(CannotUnwrapError, match="no key was made"):
        new_key(
            Forgetful(),
            keyring_id=bytes(16),
            purpose=Purpose.DATA,
            key_id=b"abcd",
            sequence=1,
            state=KeyState.ACTIVE,
            now=datetime(2026, 1, 1, tzinfo=UTC),
            random=lambda size: b"\7" * size,
        )
